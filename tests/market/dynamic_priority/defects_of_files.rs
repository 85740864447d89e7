//! Section 11, what the original gets wrong with its files and its clock: each row, and what happens here.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::daemon::child::{DaemonFolders, wait_for_files};
use crate::dynamic_priority::market::{key_of, with_budgets};

/// A bad or even an empty line of the budget file hung the start for ever.
#[test]
fn defect_01_a_bad_line_of_the_budget_file_refuses_the_start_by_name_and_empty_ones_do_not_matter() {
    for bad in ["alice 100", "alice 100 1 1", "alice", "alice  100"] {
        let place = DaemonFolders::new(&format!("bob 1 1\n{bad}\n"));
        let (status, log) = place.try_start(&[]).err().unwrap();
        assert_eq!(status.code(), Some(2));
        let told = format!("hadoop.budget:2: expected three fields: queue budget spending, in {bad:?}");
        assert!(log.contains(&told), "{log}");
    }
    let place = DaemonFolders::new("\n# budgets\nalice 100 1\n   \n\n");
    assert_eq!(place.start().stop().0, 0);
    assert_eq!(place.balance("alice").as_deref(), Some("100.0"));
}

/// An empty line of the list of users made every request, unsigned ones too, spin a thread for ever.
#[test]
fn defect_02_a_bad_line_of_the_acl_keeps_the_last_good_list_and_is_told_everywhere() {
    let place = DaemonFolders::new("alice 100 1\n");
    let serving = place.start();
    fs::write(place.acl(), "alice user alicekey\n\nroot admin rootkey\n\n").unwrap();
    assert_eq!(serving.ask("alice", "info").status, 200, "an empty line does not matter");
    fs::write(place.acl(), "root admin rootkey\nalice user\n").unwrap();
    assert_eq!(serving.ask("alice", "info").status, 200);
    assert_eq!(serving.get("/scheduler?price", "nonsense").status, 200);
    let line = serving.log.wait_for("the last good list stays in force");
    assert!(line.contains("hadoop.acl:2: ") && !line.contains("rootkey"), "{line}");
    assert!(serving.get("/readyz", "").body.contains("hadoop.acl:2: "));
    assert!(serving.get("/metrics", "").body.contains("jobtracker_acl_file_good 0"));
    assert!(serving.get("/", "").body.contains("hadoop.acl:2: "));
}

/// A bad number dropped the rest of the file, and the next tick overwrote it without.
#[test]
fn defect_03_a_file_that_was_not_read_completely_is_never_written() {
    for bad in ["bob 1x 1", "bob 1 NaN", "bob -1 1", "bob 1 -1", "bob 1e3 1", "bob 12,5 1", "bob 1000000000001 1"] {
        let content = format!("alice 100 1\n{bad}\ncarol 5 1\n");
        let place = DaemonFolders::new(&content);
        let (status, log) = place.try_start(&[]).err().unwrap();
        assert_eq!(status.code(), Some(2));
        assert!(log.contains("hadoop.budget:2: "), "{log}");
        assert_eq!(place.read_budget(), content);
        // The start that follows is a first one still.
        fs::write(place.budget(), "alice 100 1\nbob 1 1\ncarol 5 1\n").unwrap();
        assert_eq!(place.start().stop().0, 0);
        assert_eq!(place.balance("carol").as_deref(), Some("5.0"));
    }
}

/// The file was truncated and written anew at each tick: a reader saw nothing, a crash left nothing.
#[test]
fn defect_04_the_budget_file_is_replaced_whole_and_its_former_content_kept() {
    let place = DaemonFolders::new("alice 100 1\n");
    assert_eq!(place.start().stop().0, 0);
    let (before, inode) = (place.read_budget(), fs::metadata(place.budget()).unwrap().ino());
    let reader = fs::File::open(place.budget()).unwrap();
    let serving = place.start();
    serving.top_up("alice", "1");
    wait_for_files(&place.path("etc"), || fs::metadata(place.budget()).unwrap().ino() != inode);
    let seen = std::io::read_to_string(reader).unwrap();
    assert_eq!(seen, before, "who has it open reads it to the end as it was");
    assert_eq!(fs::read_to_string(place.path("etc/hadoop.budget.previous")).unwrap(), before);
    assert!(place.read_budget().starts_with("alice 101."));
    assert_eq!(place.names("etc"), ["hadoop.acl", "hadoop.budget", "hadoop.budget.previous"]);
}

/// Changes were only in memory until the next tick.
#[test]
fn defect_05_a_change_is_durable_before_it_is_answered() {
    let place = DaemonFolders::new("alice 100 1\n");
    for life in 1..=3 {
        let serving = place.start();
        serving.top_up("alice", "1");
        assert_eq!(serving.ask("alice", &format!("setSpending={life}&queue=alice")).status, 200);
        serving.kill();
        assert_eq!(place.balance("alice"), Some(format!("{}.0", 100 + life)));
    }
    let serving = place.start();
    assert_eq!(serving.ask("root", "addBudget=0&queue=alice").queue()[..2], ["103.0", "3.0"]);
}

/// Under a German locale numbers were written with a comma, which the next start could not read.
#[test]
fn defect_08_numbers_are_written_alike_in_every_locale() {
    let mut place = DaemonFolders::new("alice 12.5 0.25\n");
    place.environment = vec![("LC_ALL", "de_DE.UTF-8"), ("LANG", "de_DE.UTF-8")];
    for _ in 0..2 {
        assert_eq!(place.start().stop().0, 0);
        assert_eq!(place.read_budget(), "alice 12.50000000000000000000 0.25000000000000000000\n");
    }
}

/// Each edit of the list, and each restart, made every request since the start good once more.
#[test]
fn defect_16_the_guard_outlives_edits_of_the_acl_and_restarts() {
    let place = DaemonFolders::new("alice 100 1\n");
    let serving = place.start();
    // As of a signer whose clock is ahead: no start lies after that, however slow the machine.
    let now = jobtracker::clock::wall_ms() + 200_000;
    assert_eq!(serving.ask_at("root", "addBudget=1&queue=alice", now).status, 200);
    fs::write(place.acl(), format!("{}carol user carolkey\n", crate::daemon::child::ACL)).unwrap();
    let replayed = serving.ask_at("root", "addBudget=1&queue=alice", now);
    assert!(replayed.is_denied() && replayed.why().contains("was used before"), "{}", replayed.why());
    serving.kill();
    let serving = place.start();
    assert!(serving.ask_at("root", "addBudget=1&queue=alice", now).is_denied());
    assert_eq!(serving.ask_at("root", "addBudget=1&queue=alice", now + 1).element("budget"), "102.0");
    // Signatures of an old key die with it, so a new key begins anew; the old one, back again, goes on where it was.
    let sign = |key: &str, timestamp_ms: i64| {
        let query = format!("infos&user=root&timestamp={timestamp_ms}");
        (query.clone(), jobtracker::market::signature::sign(&query, &jobtracker::market::Key::new(key)))
    };
    fs::write(place.acl(), "root admin newkey\n").unwrap();
    let (query, signature) = sign("newkey", now);
    // A file that is not read in time leaves the list before it in force, whose denials use nothing up.
    let is_taken = || serving.get(&format!("/scheduler?{query}"), &signature).status == 200;
    assert!((0..1_000).any(|_| is_taken()), "the new key is not known");
    fs::write(place.acl(), "root admin rootkey\n").unwrap();
    assert!(serving.ask_at("root", "addBudget=1&queue=alice", now + 1).is_denied());
    assert_eq!(serving.ask_at("root", "infos", now + 1).status, 200);
}

/// A read was remembered in memory alone, so who had seen it had it answered once more after a crash.
#[test]
fn defect_16_a_read_is_answered_once_over_a_crash_too() {
    let mut place = DaemonFolders::new("alice 100 1\n");
    // No tick comes between the answer and the crash.
    place.overrides.push("mapred.dynamic-scheduler.alloc-interval=100".to_owned());
    let serving = place.start();
    // As of a signer whose clock is ahead: no start lies after that.
    let ahead = jobtracker::clock::wall_ms() + 200_000;
    let ours = |operation: &str, timestamp_ms: i64| {
        let query = format!("{operation}&user=alice&timestamp={timestamp_ms}");
        let signature = jobtracker::market::signature::sign(&query, &jobtracker::market::Key::new("alicekey"));
        (query, signature)
    };
    let statement = ours("statement", ahead + 1);
    let at_statement = |serving: &crate::daemon::child::ChildDaemon| {
        serving.get(&format!("/scheduler/statement?{}", statement.0), &statement.1)
    };
    assert_eq!(serving.ask_at("alice", "info", ahead).status, 200);
    assert_eq!(at_statement(&serving).status, 200);
    assert_eq!(serving.ask_at("bob", "infos", ahead).status, 500, "denied, and used up");
    serving.kill();
    for _ in 0..2 {
        let serving = place.start();
        let replayed = serving.ask_at("alice", "info", ahead);
        assert!(
            replayed.is_denied() && replayed.why().contains("was used before"),
            "{} {}",
            replayed.status,
            replayed.why()
        );
        assert!(at_statement(&serving).is_denied());
        assert!(serving.ask_at("bob", "infos", ahead).why().contains("was used before"));
        serving.kill();
    }
    // Who is honest waits for nothing.
    assert_eq!(place.start().ask_at("alice", "info", ahead + 2).status, 200);
}

/// With a clock set back old signatures worked again.
#[test]
fn defect_17_a_timestamp_must_lie_within_the_window_around_now_and_is_good_once() {
    with_budgets("alice 100 1\n", async |market| {
        const WINDOW_MS: i64 = 300_000;
        let now = jobtracker::clock::wall_ms();
        for far in [now - WINDOW_MS - 1_000, now + WINDOW_MS + 10_000] {
            let answer = market.get_signed("alice", &format!("info&user=alice&timestamp={far}")).await;
            assert!(answer.is_denied() && answer.why().contains("is more than 300000 ms from the server's time"));
        }
        let near = now + WINDOW_MS - 10_000;
        for at in [near, near - 1] {
            let signed = format!("info&user=alice&timestamp={at}");
            assert_eq!(market.get_signed("alice", &signed).await.status, 200);
            assert!(market.get_signed("alice", &signed).await.is_denied());
        }
    });
}

/// A timestamp far ahead was taken, and locked its user out.
#[test]
fn defect_18_a_far_timestamp_is_denied_and_moves_nothing() {
    with_budgets("alice 100 1\n", async |market| {
        for far in [i64::MAX, i64::MIN, 4_102_444_800_000] {
            assert!(market.get_signed("alice", &format!("info&user=alice&timestamp={far}")).await.is_denied());
        }
        assert_eq!(market.status("alice", "info").await, 200);
    });
}

/// Only a later time of the file counted as a change: an edit in the same instant was missed, one dated ahead was read
/// at each request.
#[test]
fn defect_19_an_edit_is_seen_whatever_the_files_date_and_size_and_read_once() {
    let place = DaemonFolders::new("alice 100 1\n");
    fs::write(place.acl(), "alice user alicekey\nroot admin rootkey\n").unwrap();
    let serving = place.start();
    assert!(serving.ask("alice", "infos").is_denied());
    // Same size, same date.
    let date = fs::metadata(place.acl()).unwrap().modified().unwrap();
    let edit = |content: &str, date| {
        fs::write(place.acl(), content).unwrap();
        fs::File::options().write(true).open(place.acl()).unwrap().set_modified(date).unwrap();
    };
    edit("alice user aliceke2\nroot admin rootkey\n", date);
    assert!(serving.ask("alice", "info").is_denied(), "its key is another now");
    edit("alice user alicekey\nroot admin rootkey\nbob user bobkey\n", date + std::time::Duration::from_secs(86_400));
    let lines = || serving.log.text().matches("3 users may sign").count();
    for _ in 0..20 {
        assert_eq!(serving.ask("alice", "info").status, 200);
    }
    // Once between the two acts of the edit, perhaps.
    assert!((1..=2).contains(&lines()), "{}", serving.log.text());
}

/// The comparison of signatures ended at the first character that differed.
#[test]
fn defect_20_signatures_are_compared_in_constant_time() {
    let source = include_str!("../../../src/market/requests/signature.rs").split("#[cfg(test)]").next().unwrap();
    assert_eq!(source.matches(".ct_eq(given)").count(), 1);
    assert!(!source.contains("== given") && !source.contains("given =="), "all of it, whatever is right");
    with_budgets("alice 100 1\n", async |market| {
        let query = format!("info&user=alice&timestamp={}", market.next_ms());
        let good = jobtracker::market::signature::sign(&query, &key_of("alice"));
        for at in 0..27 {
            let mut bad = good.clone().into_bytes();
            bad[at] = if bad[at] == b'A' { b'B' } else { b'A' };
            let bad = String::from_utf8(bad).unwrap();
            assert!(market.get_with(&query, &bad).await.is_denied(), "{bad}");
        }
        assert!(market.get_with(&query, &good[..good.len() - 3]).await.is_denied(), "a beginning is not enough");
        assert_eq!(market.get_with(&query, &good).await.status, 200);
    });
}

/// Keys, queries and answers went through the charset of the platform.
#[test]
fn defect_24_everything_is_utf_8_in_every_locale() {
    let mut place = DaemonFolders::new("alice 100 1\n");
    place.environment = vec![("LC_ALL", "C")];
    fs::write(place.acl(), "zoë admin schlüssel\n").unwrap();
    let serving = place.start();
    let query = format!("info=alice&user=zo%C3%AB&timestamp={}", jobtracker::clock::wall_ms() + 1_000);
    let signature = jobtracker::market::signature::sign(&query, &jobtracker::market::Key::new("schlüssel"));
    assert_eq!(serving.get(&format!("/scheduler?{query}"), &signature).status, 200);
    let query = format!("info=b%C3%B6b&user=zo%C3%AB&timestamp={}", jobtracker::clock::wall_ms() + 2_000);
    let signature = jobtracker::market::signature::sign(&query, &jobtracker::market::Key::new("schlüssel"));
    let refused = serving.get(&format!("/scheduler?{query}"), &signature);
    assert!(refused.status == 400 && refused.body.contains("böb"), "{}", refused.body);
}

/// A clock set back locked honest users out without a word, or let replays in.
#[test]
fn defect_38_a_signature_ahead_of_the_clock_is_good_once_and_locks_nobody_out() {
    with_budgets("alice 100 1\n", async |market| {
        let ahead = jobtracker::clock::wall_ms() + 200_000;
        let of_then = format!("info&user=alice&timestamp={ahead}");
        assert_eq!(market.get_signed("alice", &of_then).await.status, 200);
        let now = jobtracker::clock::wall_ms();
        assert_eq!(market.get_signed("alice", &format!("info&user=alice&timestamp={now}")).await.status, 200);
        assert!(market.get_signed("alice", &of_then).await.why().contains("was used before"));
    });
}
