//! Every command but `run`.

pub(crate) mod bench;
pub(crate) mod doctor;
pub(crate) mod ls;
pub(crate) mod migrate;
pub(crate) mod release;
pub(crate) mod serve;
pub(crate) mod show;

use crate::args::{Cli, Shell};
use crate::exit::{Failure, INTERNAL};
use clap::CommandFactory;
use fencehold::Holder;
use std::io::Write;
use std::time::SystemTime;

/// Writes to standard output and answers the exit code. A reader that went away (`| head`) is no failure.
pub(crate) fn print(text: &str) -> i32 {
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    match write!(out, "{text}{end}").and_then(|()| out.flush()) {
        Ok(()) => 0,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
        Err(_) => INTERNAL,
    }
}

/// The completion script for a shell.
pub(crate) fn completions(shell: Shell) -> String {
    use clap_complete::Shell as Target;
    let target = match shell {
        Shell::Bash => Target::Bash,
        Shell::Elvish => Target::Elvish,
        Shell::Fish => Target::Fish,
        Shell::Powershell => Target::PowerShell,
        Shell::Zsh => Target::Zsh,
    };
    let mut script = Vec::new();
    clap_complete::generate(target, &mut Cli::command(), "fencehold", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The manual page, with one section of each command's options.
pub(crate) fn man() -> Result<String, Failure> {
    let failed = |e| Failure::system("cannot write the manual page", &e);
    let mut page = Vec::new();
    let command = Cli::command();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(failed)?;
    for sub in command.get_subcommands() {
        let title = format!("fencehold {}", sub.get_name());
        let man = clap_mangen::Man::new(sub.clone().name(title.clone()).bin_name(title.clone()));
        page.extend(format!(".SH {}\n", title.to_uppercase()).bytes());
        man.render_description_section(&mut page).map_err(failed)?;
        man.render_options_section(&mut page).map_err(failed)?;
    }
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// One line for people about who holds a permit.
pub(crate) fn describe_holder(holder: &Holder, now: SystemTime) -> String {
    let mut text = holder.owner.clone().unwrap_or_else(|| "(the store does not tell who)".into());
    if let Some(label) = &holder.label {
        text.push_str(&format!(" (label {label:?})"));
    }
    text.push_str(&format!("  token {}", holder.token));
    if holder.slot > 0 {
        text.push_str(&format!("  slot {}", holder.slot));
    }
    if let Some(since) = holder.since {
        text.push_str(&format!("  since {}", fencehold::rfc3339(since)));
    }
    if let Some(expires) = holder.expires_at {
        let left = expires.duration_since(now).unwrap_or_default();
        text.push_str(&format!("  ends in {:.1} s unless renewed", left.as_secs_f64()));
    }
    text
}
