//! The nightly report in Rust. usage: nightly-report DATABASE [SECONDS] [LIFETIME_MS]

use fencehold::{Client, Lock, LockOptions};
use rusqlite::Connection;
use std::time::{Duration, Instant};

const WHO: &str = "rust";
const PAGES: u32 = 6;
const WRITE: &str = "UPDATE report SET body = ?, fence = ? WHERE id = 'nightly' AND fence <= ?";
const TELL: &str = "INSERT INTO account (who, fence, event) VALUES (?, ?, ?)";

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn write_report(db: &Connection, lock: &Lock) -> Result<()> {
    let fence = i64::try_from(lock.fence()?.get())?;
    let tell = |event: &str| db.execute(TELL, (WHO, fence, event));
    tell("acquired")?;
    for page in 0..PAGES {
        if !lock.keep_alive() {
            tell("lost")?;
            return Ok(());
        }
        // The work; the lease may end meanwhile, and then only the fence helps.
        std::thread::sleep(Duration::from_millis(20));
        if db.execute(WRITE, (format!("{WHO} page {page}"), fence, fence))? != 1 {
            tell("refused")?;
            return Ok(());
        }
    }
    tell("releasing")?;
    Ok(())
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let db = Connection::open(args.next().ok_or("usage: nightly-report DATABASE [SECONDS] [LIFETIME_MS]")?)?;
    db.busy_timeout(Duration::from_secs(10))?;
    let seconds = args.next().map_or(Ok(0.0), |text| text.parse())?;
    let ttl = Duration::from_millis(args.next().map_or(Ok(30_000), |text| text.parse())?);

    let client = Client::from_env()?;
    let options = LockOptions::ttl(ttl).wait(Duration::from_secs(1)).fair().label(WHO);
    let lock = client.lock("reports/nightly", options)?;
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    loop {
        if lock.acquire()?.is_granted() {
            write_report(&db, &lock)?;
            lock.release()?;
        }
        if Instant::now() >= end {
            return Ok(());
        }
    }
}
