//! Who waits sleeps: it is woken when it is its turn and looks rarely before.

use super::*;

/// How often the thread went to sleep.
fn sleeps(thread: libc::pid_t) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).expect("a thread of ours");
    let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).expect("the count");
    line.split_whitespace().nth(1).and_then(|count| count.parse().ok()).expect("a number")
}

fn this_thread() -> libc::pid_t {
    // SAFETY: asks for a number.
    unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t }
}

#[test]
fn whoever_is_far_back_in_line_sleeps() {
    let folder = folder(0o700);
    let client = open(folder.path());
    let holder = handle(&client, "n");
    take(&holder);
    let waiters: Vec<Lock> = (0..4).map(|_| handle(&client, "n")).collect();
    let (threads, known) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for (at, lock) in waiters.iter().enumerate() {
            let threads = threads.clone();
            scope.spawn(move || {
                threads.send(this_thread()).expect("somebody listens");
                take(lock);
                assert!(lock.release().expect("an answer"));
            });
            until("its place", || lock.position() == at as u32 + 1);
        }
        let threads: Vec<libc::pid_t> = known.iter().take(4).collect();
        let before: Vec<u64> = threads.iter().map(|thread| sleeps(*thread)).collect();
        let began = Instant::now();
        std::thread::sleep(Duration::from_secs(2));
        let counts: Vec<u64> = threads.iter().zip(&before).map(|(thread, before)| sleeps(*thread) - before).collect();
        let looked = began.elapsed();
        // The first two look for a dead holder 20 to 40 times a second, the others about once.
        let seconds = looked.as_secs_f64();
        assert!(counts[..2].iter().all(|count| (*count as f64) < 60.0 * seconds), "{counts:?} in {looked:?}");
        assert!(counts[2..].iter().all(|count| (*count as f64) < 5.0 * seconds), "{counts:?} in {looked:?}");
        assert!(holder.release().expect("an answer"));
    });
}

#[test]
fn whoever_is_next_is_woken_by_the_release_of_another_process() {
    let folder = folder(0o700);
    let client = open(folder.path());
    let mut times = Vec::new();
    for _ in 0..7 {
        // In line: the child, then two of ours. The last one would look by itself only after 0.75 s.
        let gate = handle(&client, "n");
        take(&gate);
        let mut child = Child::fork(|output| {
            let client = open(folder.path());
            let lock = handle(&client, "n");
            take(&lock);
            output.say(1);
            lock.release().expect("an answer")
        });
        until("the child in line", || client.show("n").expect("shown").waiters.len() == 1);
        let (second, third) = (handle(&client, "n"), handle(&client, "n"));
        std::thread::scope(|scope| {
            let one = scope.spawn(|| {
                take(&second);
                assert!(second.release().expect("an answer"));
            });
            until("the second in line", || client.show("n").expect("shown").waiters.len() == 2);
            let two = scope.spawn(|| {
                take(&third);
                Instant::now()
            });
            until("the third in line", || client.show("n").expect("shown").waiters.len() == 3);
            // Past the look that follows taking the place.
            std::thread::sleep(Duration::from_millis(20));
            let began = Instant::now();
            assert!(gate.release().expect("an answer"));
            assert_eq!(child.heard(), 1);
            one.join().expect("no panic");
            times.push(two.join().expect("no panic").saturating_duration_since(began));
        });
        assert!(child.went_well());
        assert!(third.release().expect("an answer"));
    }
    times.sort_unstable();
    assert!(times[3] < Duration::from_millis(300), "three hand-overs took {times:?}");
}
