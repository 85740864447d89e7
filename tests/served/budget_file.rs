//! What becomes of the budget file when something is wrong with it or with its disk, in the words of the running daemon.

use std::fs;

use crate::daemon::child::{DaemonFolders, wait_for_files};

const BUDGETS: &str = "alice 100 1\nbob 7.5 0.25\n";

/// The file with these budgets, as it is written.
fn image(alice: &str) -> String {
    format!(
        "alice {alice}.00000000000000000000 1.00000000000000000000\nbob 7.50000000000000000000 0.25000000000000000000\n"
    )
}

/// A place whose daemon was started once and stopped cleanly.
fn stopped() -> DaemonFolders {
    let place = DaemonFolders::new(BUDGETS);
    assert_eq!(place.start().stop().0, 0);
    assert_eq!(place.read_budget(), image("100"));
    place
}

#[test]
fn edited_while_it_runs_the_edit_is_kept_aside_and_the_ledger_holds() {
    let place = stopped();
    let serving = place.start();
    // At once: between cutting the file and filling it a tick would see an empty one.
    fs::write(place.path("etc/edited"), "mallory 1000000 1\n").unwrap();
    fs::rename(place.path("etc/edited"), place.budget()).unwrap();
    serving.top_up("alice", "1");
    serving.log.wait_for("was changed by another program; the ledger holds, the changed file is kept as");
    wait_for_files(&place.path("etc"), || place.read_budget() == image("101"));
    assert_eq!(fs::read_to_string(place.path("etc/hadoop.budget.rejected-1")).unwrap(), "mallory 1000000 1\n");
    assert_eq!(serving.ask("root", "info=mallory").status, 404);
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn edited_after_a_clean_stop_the_differences_are_taken_over() {
    let place = stopped();
    fs::write(place.budget(), "alice 60 2\ncarol 5 1\n").unwrap();
    let serving = place.start();
    serving.log.wait_for("the budget file was edited; 3 queues differ and are updated, recorded as adjustments");
    assert_eq!(serving.ask("root", "addBudget=0&queue=alice").queue()[..2], ["60.0", "2.0"]);
    assert_eq!(serving.ask("root", "info=bob").status, 404);
    assert_eq!(serving.stop().0, 0);
    assert_eq!(place.balance("carol").as_deref(), Some("5.0"));
    let adjusted: i64 = place
        .database()
        .query_row("SELECT count(*) FROM ledger WHERE reason IN ('adjustment', 'closing')", [], |row| row.get(0))
        .unwrap();
    assert_eq!(adjusted, 3);
}

#[test]
fn edited_after_a_crash_it_is_kept_aside_and_the_ledger_holds() {
    let place = stopped();
    let serving = place.start();
    serving.top_up("alice", "1");
    serving.kill();
    fs::write(place.budget(), "alice 1000000 1\n").unwrap();
    let serving = place.start();
    let line = serving.log.wait_for("THE BUDGET FILE IS NOT THE ONE WRITTEN LAST AND IS NOT TAKEN OVER");
    assert!(line.contains("the last stop was not clean") && line.contains("--take-budget-file"), "{line}");
    assert!(line.contains("hadoop.budget.rejected-1"), "{line}");
    assert_eq!(serving.ask("root", "addBudget=0&queue=alice").element("budget"), "101.0");
    assert_eq!(serving.stop().0, 0);
    assert_eq!(place.read_budget(), image("101"));
}

#[test]
fn a_line_that_cannot_be_understood_refuses_the_whole_edit() {
    for (edit, why) in [
        ("alice 60 1\nbob 7.5\n", "hadoop.budget:2: expected three fields: queue budget spending"),
        ("alice 60,5 1\n", "hadoop.budget:1: budget: \"60,5\" is not a decimal number"),
        ("", "it names no queue"),
    ] {
        let place = stopped();
        fs::write(place.budget(), edit).unwrap();
        let serving = place.start();
        let line = serving.log.wait_for("IS NOT TAKEN OVER");
        assert!(line.contains(why), "{line}");
        assert_eq!(serving.stop().0, 0);
        assert_eq!(place.read_budget(), image("100"));
        assert_eq!(fs::read_to_string(place.path("etc/hadoop.budget.rejected-1")).unwrap(), edit);
    }
}

#[test]
fn deleted_while_it_runs_it_is_written_anew_when_something_changes() {
    let place = stopped();
    let serving = place.start();
    fs::remove_file(place.budget()).unwrap();
    serving.top_up("alice", "1");
    wait_for_files(&place.path("etc"), || place.budget().exists() && place.read_budget() == image("101"));
    fs::remove_file(place.budget()).unwrap();
    assert_eq!(serving.stop().0, 0);
    assert_eq!(place.read_budget(), image("101"), "at the latest at the stop");
}

#[test]
fn deleted_while_it_is_stopped_it_is_written_anew_at_the_start() {
    use std::os::unix::fs::PermissionsExt;
    let place = stopped();
    fs::remove_file(place.budget()).unwrap();
    let serving = place.start();
    serving.log.wait_for("the budget file is missing; it is rewritten from the ledger");
    wait_for_files(&place.path("etc"), || place.budget().exists());
    assert_eq!(serving.stop().0, 0);
    assert_eq!(place.read_budget(), image("100"));
    assert_eq!(fs::metadata(place.budget()).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn missing_at_the_very_first_start_the_start_is_refused() {
    let place = DaemonFolders::new("");
    fs::remove_file(place.budget()).unwrap();
    let (status, log) = place.try_start(&[]).err().unwrap();
    assert_eq!(status.code(), Some(2));
    assert!(log.contains("no budget file; the dynamic priority scheduler needs one at its first start"), "{log}");
}

#[test]
fn read_only_in_a_folder_that_is_not_it_is_replaced_and_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let place = DaemonFolders::of_nobody(BUDGETS);
    place.set_mode("etc/hadoop.budget", 0o440);
    let serving = place.start();
    serving.top_up("alice", "1");
    assert_eq!(serving.stop().0, 0);
    assert_eq!(place.read_budget(), image("101"));
    assert_eq!(fs::metadata(place.budget()).unwrap().permissions().mode() & 0o777, 0o440);
}

#[test]
fn in_a_read_only_folder_it_is_written_in_place_with_copies_in_the_state_folder() {
    let place = DaemonFolders::of_nobody(BUDGETS);
    place.set_mode("etc", 0o555);
    let serving = place.start();
    serving.top_up("alice", "1");
    let line = serving.log.wait_for("its folder accepts no new files, so the budget file is written in place");
    assert!(line.contains("a complete copy is") && line.contains("state/hadoop.budget.copy"), "{line}");
    serving.top_up("alice", "1");
    let (code, log) = serving.stop();
    assert_eq!((code, log.matches("written in place").count()), (0, 1), "{log}");
    assert_eq!(place.read_budget(), image("102"));
    assert_eq!(fs::read_to_string(place.path("state/hadoop.budget.copy")).unwrap(), image("102"));
    assert_eq!(place.names("etc"), ["hadoop.acl", "hadoop.budget"]);
    // An edit is kept in the state folder, too.
    let serving = place.start();
    fs::write(place.budget(), "mallory 1 1\n").unwrap();
    serving.top_up("alice", "1");
    serving.log.wait_for("state/hadoop.budget.rejected-1");
    assert_eq!(serving.stop().0, 0);
    place.set_mode("etc", 0o755);
}

#[test]
fn read_only_in_a_read_only_folder_it_stays_as_it_is_until_it_may_be_written() {
    let place = DaemonFolders::of_nobody(BUDGETS);
    place.set_mode("etc/hadoop.budget", 0o440);
    place.set_mode("etc", 0o555);
    let serving = place.start();
    serving.top_up("alice", "1");
    let line = serving.log.wait_for("retrying");
    assert!(line.contains("cannot write") && line.contains("hadoop.budget: Permission denied"), "{line}");
    let ready = serving.get("/readyz", "");
    assert_eq!(ready.status, 200);
    assert!(
        ready.body.starts_with("ok, but cannot write") && ready.body.contains("Permission denied"),
        "{}",
        ready.body
    );
    assert!(serving.get("/metrics", "").body.contains("jobtracker_budget_file_good 0"));
    let (code, log) = serving.stop();
    assert_eq!(code, 1, "{log}");
    assert_eq!(place.read_budget(), BUDGETS);
    place.set_mode("etc", 0o755);
    place.set_mode("etc/hadoop.budget", 0o640);
    assert_eq!(place.balance("alice").as_deref(), Some("101.0"));
    assert_eq!(place.start().stop().0, 0);
    assert_eq!(place.read_budget(), image("101"));
}

#[test]
fn what_cannot_be_read_is_never_overwritten() {
    let place = DaemonFolders::of_nobody(BUDGETS);
    assert_eq!(place.start().stop().0, 0);
    place.set_mode("etc/hadoop.budget", 0o000);
    let (status, log) = place.try_start(&[]).err().unwrap();
    assert_eq!(status.code(), Some(2));
    assert!(log.contains("mapred.dynamic-scheduler.budget-file = ") && log.contains("Permission denied"), "{log}");
    place.set_mode("etc/hadoop.budget", 0o640);
    let serving = place.start();
    fs::remove_file(place.budget()).unwrap();
    fs::create_dir(place.budget()).unwrap();
    serving.top_up("alice", "1");
    serving.log.wait_for("hadoop.budget: not a file; retrying");
    fs::remove_dir(place.budget()).unwrap();
    assert_eq!(serving.stop().0, 0);
    assert_eq!(place.read_budget(), image("101"));
}

/// As it is for a daemon that ran for longer than the window and was stopped while the clock was an hour ahead.
#[test]
fn the_clock_set_back_an_hour_denies_who_signed_in_that_hour_and_changes_no_money() {
    const HOUR_MS: i64 = 3_600_000;
    let place = DaemonFolders::new(BUDGETS);
    let serving = place.start();
    assert_eq!(serving.ask("alice", "setSpending=2&queue=alice").status, 200);
    serving.top_up("alice", "1");
    assert_eq!(serving.stop().0, 0);
    let database = place.database();
    let forgotten =
        "INSERT INTO forgotten_signature SELECT consumer, user, key_id, timestamp_ms + ?1 FROM used_signature";
    assert_eq!(database.execute(forgotten, [HOUR_MS]).unwrap(), 2);
    assert_eq!(database.execute("DELETE FROM used_signature", []).unwrap(), 2);
    database.execute("UPDATE tick SET wall_ms = wall_ms + ?1", [HOUR_MS]).unwrap();
    database.execute("UPDATE ledger SET wall_ms = wall_ms + ?1", [HOUR_MS]).unwrap();
    drop(database);
    let before = place.read_budget();
    let serving = place.start();
    let denied = serving.ask("alice", "info");
    assert!(denied.is_denied(), "{denied:?}");
    assert!(denied.why().contains(", ahead of the server's time "), "{}", denied.why());
    assert!(denied.why().contains("wait until the clock passes it or have the key changed"), "{}", denied.why());
    // Who did not sign in that hour is served, and so is a new key.
    assert_eq!(serving.ask("bob", "info").status, 200);
    fs::write(place.acl(), "alice user alicekey\nroot user otherkey\nchief admin chiefkey\n").unwrap();
    assert_eq!(serving.ask("chief", "addBudget=1&queue=alice").element("budget"), "102.0");
    fs::write(place.acl(), "alice user newkey\nchief admin chiefkey\n").unwrap();
    let query = format!("info&user=alice&timestamp={}", jobtracker::clock::wall_ms());
    let signature = jobtracker::market::signature::sign(&query, &jobtracker::market::Key::new("newkey"));
    assert_eq!(serving.get(&format!("/scheduler?{query}"), &signature).status, 200);
    assert_eq!(serving.stop().0, 0);
    assert_eq!(before.replace("101.", "102."), place.read_budget());
}

#[test]
fn by_the_administrators_word_it_becomes_the_ledger_even_after_a_crash() {
    let place = stopped();
    let serving = place.start();
    serving.top_up("alice", "1");
    serving.kill();
    fs::write(place.budget(), "alice 60 2\n").unwrap();
    let serving = place.try_start(&["--take-budget-file"]).unwrap_or_else(|(status, log)| panic!("{status}:\n{log}"));
    serving.log.wait_for("the budget file was edited; 2 queues differ and are updated");
    assert_eq!(serving.ask("root", "addBudget=0&queue=alice").queue()[..2], ["60.0", "2.0"]);
    assert_eq!(serving.stop().0, 0);
    fs::remove_file(place.budget()).unwrap();
    let (status, log) = place.try_start(&["--take-budget-file"]).err().unwrap();
    assert!(status.code() == Some(2) && log.contains("no budget file"), "{log}");
}
