//! `fencehold run`: what becomes of the command, its exit code, its signals and its descendants.

mod support;

use std::time::{Duration, Instant};
use support::{World, is_alive, kill, state, wait_for};

/// A worker that has left its session and its parent, as daemons do; its process id is in the file `daemon`.
const DAEMON: &str = "setsid sh -c '(echo $$ >daemon.new; mv daemon.new daemon; exec sleep 300) & wait' & ";

#[test]
fn the_commands_exit_code_comes_back() {
    let world = World::new();
    for code in [0, 1, 42, 255] {
        assert_eq!(world.start(&[], &format!("exit {code}")).finish(), (code, String::new()));
    }
    for (signal, code) in [("SEGV", 139), ("TERM", 143)] {
        assert_eq!(world.start(&[], &format!("kill -{signal} $$")).finish().0, code);
    }
    assert!(!world.is_held());
}

#[test]
fn a_command_that_cannot_run_says_so_and_leaves_nothing_held() {
    let world = World::new();
    std::fs::write(world.path("plain"), "text").expect("a file");
    for (command, code) in [("/no/such/command", 127), ("./plain", 126)] {
        let output = world.output(&["run", "n", command]);
        assert_eq!(output.status.code(), Some(code));
        let message = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(message.starts_with(&format!("fencehold: cannot run {command}: ")), "{message}");
        assert!(!world.is_held());
    }
}

#[test]
fn the_command_is_not_started_while_somebody_else_holds_the_lock() {
    let world = World::new();
    let holder = world.start(&[], "echo $$ >holder; exec sleep 300");
    world.line("holder");
    for (options, code) in [
        (&[][..], 75),
        (&["--wait", "100ms"][..], 76),
        (&["--wait", "0.1"][..], 76),
        (&["--held-code", "0"][..], 0),
        (&["--wait", "100ms", "--held-code", "3"][..], 3),
    ] {
        let (got, message) = world.start(options, "touch started").finish();
        assert_eq!(got, code, "{options:?}: {message}");
        assert!(message.starts_with("fencehold: lock \"n\" on file:"), "{message}");
    }
    assert!(!world.exists("started"));
    drop(holder);
    world.wait_until_free();
}

#[test]
fn usage_errors_are_64_and_start_nothing() {
    let world = World::new();
    for args in [
        &["run", "n"][..],
        &["run", "a#b", "touch", "started"],
        &["run", "n", "--ttl", "1ms", "touch", "started"],
        &["run", "n", "--ttl", "10s", "--grace", "6s", "touch", "started"],
        &["run", "n", "--wait", "soon", "touch", "started"],
        &["run", "n", "--resume", "touch", "started"],
        &["--store", "nonsense:", "run", "n", "touch", "started"],
        &["release", "n"],
        &["release", "n", "--owner", "o", "--token", "1"],
        &["no-such-command"],
    ] {
        let output = world.output(args);
        assert_eq!(output.status.code(), Some(64), "{args:?}: {output:?}");
        assert!(output.stdout.is_empty() && output.stderr.starts_with(b"fencehold: "), "{args:?}: {output:?}");
    }
    assert!(!world.exists("started"));
}

#[test]
fn the_command_gets_the_fence_and_what_it_needs_to_look_itself_up() {
    let world = World::new();
    let script = "printf '%s\\n' \"$FENCEHOLD_NAME $FENCEHOLD_SLOT $FENCEHOLD_OWNER $FENCEHOLD_URL\" >a
        printf '%s %s\\n' \"$FENCEHOLD_FENCE\" \"$FENCEHOLD_TOKEN\" >b";
    assert_eq!(world.start(&["--owner", "web-2"], script).finish().0, 0);
    assert_eq!(world.line("a"), format!("n 0 web-2 {}", world.store()));
    let fences = world.line("b");
    let (fence, token) = fences.split_once(' ').expect("two");
    assert!(fence == token && fence.parse::<u64>().expect("a number") > 0);
    assert_eq!(world.start(&[], script).finish().0, 0);
    let later = world.line("b").split_once(' ').expect("two").0.parse::<u64>().expect("a number");
    assert!(later > fence.parse().expect("a number"), "fences rise");
}

#[test]
fn the_lease_is_renewed_for_as_long_as_the_command_runs() {
    let world = World::new();
    let run = world.start(&["--ttl", "1s"], "echo $$ >up; sleep 2.5; touch done");
    world.line("up");
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        assert!(world.is_held());
    }
    assert_eq!(run.finish(), (0, String::new()));
    assert!(world.exists("done") && !world.is_held());
}

#[test]
fn a_stop_is_passed_on_and_the_lock_stays_held_until_the_command_has_ended() {
    let world = World::new();
    let run = world
        .start(&[], "trap 'echo x >got; sleep 1; touch done; exit 7' TERM; echo $$ >up; while :; do sleep 0.02; done");
    world.line("up");
    let sent = Instant::now();
    run.signal(libc::SIGTERM);
    world.line("got");
    assert!(sent.elapsed() < Duration::from_secs(1), "took {:?}", sent.elapsed());
    assert!(world.is_held() && !world.exists("done"));
    assert_eq!(run.finish(), (7, String::new()));
    assert!(world.exists("done") && !world.is_held());
}

#[test]
fn each_signal_reaches_the_command() {
    let world = World::new();
    for (name, number) in [
        ("HUP", libc::SIGHUP),
        ("INT", libc::SIGINT),
        ("QUIT", libc::SIGQUIT),
        ("USR1", libc::SIGUSR1),
        ("USR2", libc::SIGUSR2),
    ] {
        let up = format!("up-{name}");
        let script = format!("trap 'exit 9' {name}; echo $$ >{up}; while :; do sleep 0.02; done");
        let run = world.start(&[], &script);
        world.line(&up);
        run.signal(number);
        assert_eq!(run.finish(), (9, String::new()), "{name}");
        assert!(!world.is_held());
    }
}

#[test]
fn a_stop_while_waiting_runs_nothing_and_leaves_no_place_in_line() {
    let world = World::new();
    let holder = world.start(&[], "echo $$ >holder; exec sleep 300");
    world.line("holder");
    let waiter = world.start(&["--wait", "forever", "--fair"], "touch started");
    wait_for("the waiter to be seen", || {
        String::from_utf8(world.output(&["show", "n"]).stdout).ok().filter(|text| text.contains("waiting 1"))
    });
    waiter.signal(libc::SIGTERM);
    assert_eq!(waiter.finish().0, 143);
    let shown = String::from_utf8(world.output(&["show", "n"]).stdout).expect("UTF-8");
    assert!(!shown.contains("waiting") && !world.exists("started"), "{shown}");
    drop(holder);
    world.wait_until_free();
}

#[test]
fn what_the_command_left_behind_is_ended_before_the_lock_is_free() {
    let world = World::new();
    let run = world.start(
        &["--ttl", "3s", "--grace", "500ms"],
        &format!("{DAEMON} while ! test -e daemon; do sleep 0.01; done; exit 5"),
    );
    let daemon = world.pid("daemon");
    assert_eq!(run.finish().0, 5);
    assert!(!is_alive(daemon) && !world.is_held());
}

#[test]
fn what_is_deaf_to_the_polite_stop_is_killed_after_the_grace() {
    let world = World::new();
    let run = world.start(
        &["--ttl", "3s", "--grace", "300ms"],
        "sh -c 'trap \"\" TERM; echo $$ >deaf; while :; do sleep 0.02; done' & while ! test -s deaf; do sleep 0.01; done",
    );
    let deaf = world.pid("deaf");
    assert_eq!(run.finish().0, 0);
    assert!(!is_alive(deaf) && !world.is_held());
}

#[test]
fn a_lost_lease_ends_the_command_and_its_daemons() {
    let world = World::new();
    let run = world.start(&["--ttl", "1s", "--owner", "me"], &format!("{DAEMON} sleep 300 & echo $! >worker; wait"));
    let (daemon, worker) = (world.pid("daemon"), world.pid("worker"));
    assert_eq!(world.code(&["release", "n", "--owner", "me"]), 0);
    let (code, message) = run.finish();
    assert_eq!(code, 79);
    assert!(message.starts_with("fencehold: lock \"n\""), "{message}");
    assert!(!is_alive(daemon) && !is_alive(worker));
}

#[test]
fn killing_the_command_that_was_typed_ends_the_tree() {
    let world = World::new();
    let run = world.start(&[], &format!("{DAEMON} echo $$ >shell; while :; do sleep 0.02; done"));
    let (daemon, shell) = (world.pid("daemon"), world.pid("shell"));
    run.signal(libc::SIGKILL);
    wait_for("the tree to be gone", || (!is_alive(daemon) && !is_alive(shell)).then_some(()));
    world.wait_until_free();
}

#[test]
fn killing_the_guardian_ends_the_tree_while_the_lease_still_stands() {
    let world = World::new();
    let run = world.start(&["--ttl", "5s"], &format!("{DAEMON} echo $PPID >guardian; while :; do sleep 0.02; done"));
    let (daemon, guardian) = (world.pid("daemon"), world.pid("guardian"));
    kill(guardian, libc::SIGKILL);
    let (code, message) = run.finish();
    assert_eq!(code, 79, "{message}");
    assert!(message.contains("killed by signal 9"), "{message}");
    assert!(!is_alive(daemon));
    assert!(world.is_held(), "the lease of a killed guardian ends by itself, not at once");
}

#[test]
fn a_guardian_that_stands_still_does_not_outlive_its_lease() {
    let world = World::new();
    let run = world.start(&["--ttl", "1s"], &format!("{DAEMON} echo $PPID >guardian; while :; do sleep 0.02; done"));
    let (daemon, guardian) = (world.pid("daemon"), world.pid("guardian"));
    kill(guardian, libc::SIGSTOP);
    // In this order: looking takes a moment, in which the one may die and the other may end.
    wait_for("the lease to end", || {
        (!world.is_held()).then(|| assert!(!is_alive(daemon), "the tree is gone before the lease has ended"))
    });
    let (code, message) = run.finish();
    assert_eq!(code, 79, "{message}");
    assert!(message.contains("stood still"), "{message}");
}

#[test]
fn a_store_out_of_reach_means_a_polite_stop_then_a_kill_before_the_lease_ends() {
    let world = World::new();
    let run = world.start(
        &["--ttl", "4s", "--grace", "1500ms"],
        "trap 'date +%s%3N >asked' TERM; echo $$ >up; while :; do sleep 0.02; date +%s%3N >>alive; done",
    );
    let up = world.pid("up");
    let lock = std::fs::File::open(world.path("store").join("lock")).expect("the store's lock file");
    let began = Instant::now();
    lock.lock().expect("nobody else can use the store now");
    let (code, message) = run.finish();
    let took = began.elapsed();
    drop(lock);
    assert_eq!(code, 79, "{message}");
    assert!(message.contains("asked to stop"), "{message}");
    assert!(took < Duration::from_secs(4), "gone before the lease can end, took {took:?}");
    assert!(!is_alive(up));
    let (asked, alive) = (world.line("asked"), world.last_line("alive"));
    let grace = alive.parse::<i64>().expect("ms") - asked.parse::<i64>().expect("ms");
    assert!(grace > 500, "the command had its grace, {grace} ms");
}

#[test]
fn a_semaphore_lets_as_many_run_as_it_has_permits() {
    let world = World::new();
    let runs: Vec<_> = (0..2)
        .map(|n| world.start(&["--permits", "2"], &format!("echo $FENCEHOLD_SLOT >slot-{n}; exec sleep 300")))
        .collect();
    let mut slots = [world.line("slot-0"), world.line("slot-1")];
    slots.sort();
    assert_eq!(slots, ["0", "1"]);
    assert_eq!(world.start(&["--permits", "2"], "touch started").finish().0, 75);
    assert!(!world.exists("started"));
    drop(runs);
    world.wait_until_free();
}

#[test]
fn a_stop_from_the_terminal_stops_the_command_and_keeps_its_lease() {
    let world = World::new();
    let run = world.start(&["--ttl", "500ms"], "mkfifo go; echo $$ >up; read line <go");
    let up = world.pid("up");
    run.signal_group(libc::SIGTSTP);
    wait_for("the command to stand", || (state(up) == Some('T')).then_some(()));
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1500) {
        assert!(world.is_held(), "the lease is renewed while the command stands");
    }
    assert_eq!(state(up), Some('T'));
    run.signal_group(libc::SIGCONT);
    std::fs::write(world.path("go"), "\n").expect("the command reads it");
    assert_eq!(run.finish(), (0, String::new()));
}

#[test]
fn the_exit_code_comes_back_although_whoever_started_us_ignores_the_end_of_children() {
    let world = World::new();
    assert_eq!(world.start_after("trap '' CHLD", "exit 42").finish(), (42, String::new()));
}

#[test]
fn children_that_were_there_before_are_left_alone() {
    let world = World::new();
    let run = world.start_after(
        "sleep 300 >/dev/null 2>&1 & echo $! >mine",
        "echo $PPID >guardian; sleep 300 & echo $! >worker; wait",
    );
    let (mine, guardian, worker) = (world.pid("mine"), world.pid("guardian"), world.pid("worker"));
    kill(guardian, libc::SIGKILL);
    let code = run.finish().0;
    let spared = is_alive(mine);
    kill(mine, libc::SIGKILL);
    assert!(spared && code == 79 && !is_alive(worker), "spared: {spared}, exit code {code}");
}

/// Without a shell in between, as `ssh -t host fencehold run …` starts it.
#[test]
fn a_terminal_that_goes_away_ends_the_command_although_only_the_leader_of_the_session_is_told() {
    let world = World::new();
    let (terminal, end) = support::terminal();
    let mut child =
        support::on_terminal(&mut world.fencehold(&["run", "n", "sh", "-c", "echo $$ >up; exec sleep 300"]), end);
    let command = world.pid("up");
    drop(terminal);
    let status = wait_for("the end", || child.try_wait().expect("a status"));
    assert_eq!(status.code(), Some(129));
    assert!(!is_alive(command) && !world.is_held());
}

#[test]
fn a_wait_outlives_the_signals_that_its_starter_ignores() {
    let world = World::new();
    let holder = world.start(&[], "echo $$ >up; exec sleep 300");
    let command = world.pid("up");
    let waiter = world.start_ignoring(&[libc::SIGHUP, libc::SIGINT], &["--wait", "forever"], "touch ran");
    wait_for("a waiter", || {
        String::from_utf8(world.output(&["show", "n", "--json"]).stdout)
            .expect("UTF-8")
            .contains("\"waiting\":1")
            .then_some(())
    });
    waiter.signal(libc::SIGHUP);
    waiter.signal_group(libc::SIGINT);
    std::thread::sleep(Duration::from_millis(300));
    kill(command, libc::SIGTERM);
    assert_eq!(holder.finish().0, 143);
    assert_eq!(waiter.finish(), (0, String::new()));
    assert!(world.exists("ran"));
}
