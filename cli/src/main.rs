//! The command `fencehold`: runs a command under a lease, lists and shows locks, gives them back.

mod args;
mod commands;
mod exit;
mod run;
mod store;
mod sys;

use args::{Cli, Command};
use clap::Parser;
use clap::error::ErrorKind;
use exit::{Failure, USAGE, say};

fn main() {
    let code = match Cli::try_parse() {
        Ok(cli) => dispatch(cli).unwrap_or_else(|failure| {
            say(&failure.message);
            failure.code
        }),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            commands::print(&error.to_string())
        }
        Err(error) => {
            let text = error.to_string();
            say(text.trim_end().trim_start_matches("error: "));
            USAGE
        }
    };
    std::process::exit(code);
}

fn dispatch(cli: Cli) -> Result<i32, Failure> {
    match cli.command {
        Command::Run(args) => run::run(cli.store, args),
        Command::Ls(args) => commands::ls::run(&cli.store, &args),
        Command::Show(args) => commands::show::run(&cli.store, &args),
        Command::Release(args) => commands::release::run(&cli.store, &args),
        Command::Doctor(args) => commands::doctor::run(&cli.store, &args),
        Command::Bench(args) => commands::bench::run(&cli.store, &args),
        Command::Migrate(args) => commands::migrate::run(&cli.store, &args),
        Command::Serve(args) => commands::serve::run(&cli.store, args),
        Command::Completions(args) => Ok(commands::print(&commands::completions(args.shell))),
        Command::Man => commands::man().map(|page| commands::print(&page)),
    }
}
