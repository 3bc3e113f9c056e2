//! One suite that every store has to pass, through the public names of this crate.
//!
//! It always runs on `memory:` and `file:`. `FENCEHOLD_CONFORMANCE` names further stores by URL, separated by spaces:
//!
//! ```text
//! FENCEHOLD_CONFORMANCE='http://127.0.0.1:4711 etcd://127.0.0.1:2379' cargo test -p fencehold --test conformance
//! ```
//!
//! What a store cannot do by its nature is in its [`Traits`]; the tests that do not apply are named and counted.

mod holding;
mod limits;
mod looking;
mod process;
mod processes;
mod semaphores;
mod site;
#[path = "../support/mod.rs"]
mod support;
mod waiting;

use site::{Site, Traits};
use support::Case;

/// A test's name, the traits that it needs, and the test.
pub(crate) type Test = (&'static str, fn(&Traits) -> bool, fn(&Site));

/// Needs nothing.
pub(crate) fn any(_: &Traits) -> bool {
    true
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--child") {
        return process::child(&arguments[1..]);
    }
    let more = std::env::var("FENCEHOLD_CONFORMANCE").unwrap_or_default();
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("FENCEHOLD_")) {
        // SAFETY: no other thread runs yet.
        unsafe { std::env::remove_var(name) };
    }
    let sites: Vec<Site> = ["memory:", "file:"].into_iter().chain(more.split_whitespace()).map(Site::new).collect();
    let tests: Vec<Test> =
        [holding::TESTS, waiting::TESTS, semaphores::TESTS, looking::TESTS, limits::TESTS, processes::TESTS].concat();
    let mut cases = Vec::new();
    for site in &sites {
        let (apply, rest): (Vec<&Test>, Vec<&Test>) = tests.iter().partition(|test| test.1(&site.traits));
        if !rest.is_empty() {
            let names: Vec<&str> = rest.iter().map(|test| test.0).collect();
            println!("{} of {} do not apply to {}: {}", rest.len(), tests.len(), site.kind, names.join("; "));
        }
        cases.extend(apply.into_iter().map(|test| case(site, *test)));
    }
    support::run(cases, 4)
}

fn case(site: &Site, (name, _, body): Test) -> Case<'_> {
    Case { title: format!("{name} on {}", site.kind), body: Box::new(move || body(site)) }
}
