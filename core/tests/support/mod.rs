//! Runs tests whose number is only known when they run, and prints them as cargo's own do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Instant;

/// One test, which panics when it fails.
pub(crate) struct Case<'a> {
    pub(crate) title: String,
    pub(crate) body: Box<dyn FnOnce() + Send + 'a>,
}

/// The command line's words that are no options: what titles have to contain.
pub(crate) fn filters() -> Vec<String> {
    std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect()
}

/// Runs the cases on `threads` threads, prints the counts and ends the process.
pub(crate) fn run(mut cases: Vec<Case<'_>>, threads: usize) -> ! {
    let filters = filters();
    let all = cases.len();
    cases.retain(|case| filters.is_empty() || filters.iter().any(|filter| case.title.contains(filter)));
    let (count, left_out) = (cases.len(), all - cases.len());
    let began = Instant::now();
    let queue = Mutex::new(cases.into_iter());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let case = queue.lock().expect("no test panics with it").next();
                    let Some(Case { title, body }) = case else { return };
                    match catch_unwind(AssertUnwindSafe(body)) {
                        Ok(()) => println!("test {title} ... ok"),
                        Err(panic) => {
                            println!("test {title} ... FAILED");
                            let words = words(&*panic);
                            failed.lock().expect("no test panics with it").push(format!("{title}: {words}"));
                        }
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no test panics with it");
    for failure in &failed {
        println!("\n{failure}");
    }
    let verdict = if failed.is_empty() { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {verdict}. {} passed; {} failed; 0 ignored; 0 measured; {left_out} filtered out; finished in {:.2}s",
        count - failed.len(),
        failed.len(),
        began.elapsed().as_secs_f64()
    );
    std::process::exit(i32::from(!failed.is_empty()));
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".into())
}
