//! Signatures that are sent side by side: each is good once, over a crash too.

use std::process::{Command, Stdio};

use jobtracker::clock::wall_ms;

use crate::daemon::child::{ChildDaemon, DaemonFolders};

use super::BUDGETS;

/// How many are sent at one time.
const AT_ONCE: i64 = 60;

#[test]
fn requests_that_are_signed_side_by_side_all_count_once() {
    let place = DaemonFolders::new(BUDGETS);
    let serving = place.start();
    // In whatever order they come; half of them in the same millisecond as the one before, with another text.
    let now_ms = wall_ms() + 10_000;
    let request = |number: i64| (format!("addBudget={}&queue=alice", 1 + number % 2), now_ms - number / 2 * 7);
    std::thread::scope(|scope| {
        let sent: Vec<_> = (0..AT_ONCE)
            .map(|number| {
                let (serving, (query, at_ms)) = (&serving, request(number));
                scope.spawn(move || serving.ask_at("root", &query, at_ms).status)
            })
            .collect();
        let statuses: Vec<u16> = sent.into_iter().map(|answer| answer.join().unwrap()).collect();
        assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    });
    let expected = |serving: &ChildDaemon| {
        assert_eq!(serving.ask("root", "info=alice").element("budget"), "190.0");
    };
    let replay_all = |serving: &ChildDaemon| {
        for number in 0..AT_ONCE {
            let (query, at_ms) = request(number);
            let replayed = serving.ask_at("root", &query, at_ms);
            assert!(replayed.is_denied() && replayed.why().contains("was used before"), "{}", replayed.body);
        }
    };
    replay_all(&serving);
    serving.kill();
    let serving = place.start();
    replay_all(&serving);
    expected(&serving);
    assert_eq!(serving.stop().0, 0);
}

/// The client of the documentation, started as often as that at one time.
#[test]
fn sixty_clients_of_one_user_that_run_side_by_side_are_all_served() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/etc/client/scheduler.py");
    if Command::new("python3").arg("--version").output().is_err() {
        crate::daemon::skip::skip("sixty clients side by side", Some("python3 is not here".to_owned()));
        return;
    }
    let place = DaemonFolders::new(BUDGETS);
    let serving = place.start();
    std::fs::write(place.path("root"), "rootkey\n").unwrap();
    let command = || {
        let mut command = Command::new("python3");
        command.args([script, "addBudget=1&queue=alice", "--user", "root", "--server", &serving.http.to_string()]);
        command.arg("--key-file").arg(place.path("root")).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let children: Vec<_> = (0..AT_ONCE).map(|_| command().spawn().unwrap()).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    // What a change answers is the account now, `info` what the last tick left.
    assert_eq!(serving.ask("alice", "setSpending=1&queue=alice").element("budget"), "160.0");
    assert_eq!(serving.stop().0, 0);
}
