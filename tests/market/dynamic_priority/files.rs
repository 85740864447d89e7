//! Section 6: the list of users and the budget file.

use std::fs;

use crate::daemon::child::DaemonFolders;
use crate::dynamic_priority::market::{Market, Terms, with_budgets, with_market};

fn edit(market: &Market, acl: &str) {
    fs::write(market.rig.folder.path().join("hadoop.acl"), acl).unwrap();
}

// The list of users.

#[test]
fn section_6_a_user_is_one_line_of_three_fields() {
    with_budgets("alice 100 1\n", async |market| {
        edit(&market, "\u{feff}# who may sign\n\nalice\tuser  alicekey-abc\n root admin rootkey\r\n");
        assert_eq!(market.status("alice", "info").await, 200);
        assert_eq!(market.status("root", "infos").await, 200);
        for bad in ["carol user", "carol", "carol user carol key", "carol ADMIN carolkey", "alice user carolkey"] {
            edit(&market, &format!("alice admin alicekey-abc\n{bad}\n"));
            assert_eq!(market.status("alice", "infos").await, 500, "{bad:?}: the list before holds, wholly");
            let told = jobtracker::web::Owner::health(&market.rig.handle).acl_error.unwrap();
            assert!(told.contains("hadoop.acl:2: ") && !told.contains("carolkey"), "{told}");
        }
    });
}

#[test]
fn section_6_a_list_that_is_gone_is_told_and_the_last_one_holds() {
    with_budgets("alice 100 1\n", async |market| {
        fs::remove_file(market.rig.folder.path().join("hadoop.acl")).unwrap();
        assert_eq!(market.status("alice", "info").await, 200);
        let told = jobtracker::web::Owner::health(&market.rig.handle).acl_error.unwrap();
        assert!(told.contains("hadoop.acl") && told.contains("the last good list stays in force"), "{told}");
    });
}

#[test]
fn section_6_jobs_are_judged_by_the_list_of_the_moment_too() {
    with_budgets("alice 100 1\n", async |market| {
        market.submit("alice", 1, 0).await;
        edit(&market, "root admin rootkey\n");
        let (_, text) = market.submit_with("alice", &market.job_signature("alice"), 2).await.unwrap_err();
        assert!(text.contains("ACCESS DENIED"), "{text}");
    });
}

/// Who reads keys signs as everybody, who writes them brings in keys of his own.
#[test]
fn files_with_keys_that_others_may_read_or_write_are_told() {
    let place = DaemonFolders::new("alice 100 1\n");
    for (mode, told) in
        [(0o666, "hadoop.acl is readable and writable for others"), (0o644, "hadoop.acl is readable for others")]
    {
        place.set_mode("etc/hadoop.acl", mode);
        let (code, log) = place.start().stop();
        assert_eq!((code, log.matches(told).count()), (0, 1), "{log}");
    }
    place.set_mode("etc/hadoop.acl", 0o640);
    let log = place.start().stop().1;
    assert!(!log.contains("for others"), "{log}");

    let key = place.path("key");
    fs::write(&key, "alicekey\n").unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/etc/client/scheduler.py");
    for program in [vec![env!("CARGO_BIN_EXE_jobtracker"), "sign"], vec!["python3", script]] {
        let warnings = |mode| {
            place.set_mode("key", mode);
            let mut command = std::process::Command::new(program[0]);
            command.args(&program[1..]).args(["--job", "--user", "alice", "--key-file"]).arg(&key);
            let output = command.env_remove("HADOOP_KEY").output().unwrap();
            assert!(output.status.success() && output.stdout.starts_with(b"-Dmapred.job.timestamp="), "{output:?}");
            // No server gives its time here, which is noted.
            let text = String::from_utf8(output.stderr).unwrap();
            text.lines().filter(|line| !line.contains(": note: ")).map(|line| format!("{line}\n")).collect::<String>()
        };
        let told = warnings(0o644);
        assert!(told.lines().count() == 1 && told.contains("warning") && told.contains("others"), "{told}");
        assert_eq!(warnings(0o600), "");
    }
}

// The budget file.

#[test]
fn section_6_the_budget_file_is_name_and_two_numbers_with_twenty_decimals_as_the_original_writes_it() {
    let place = DaemonFolders::new("bob 7 0.25\nalice 1000.00000000000000000000 0.50000000000000000000\n");
    assert_eq!(place.start().stop().0, 0);
    let written =
        "alice 1000.00000000000000000000 0.50000000000000000000\nbob 7.00000000000000000000 0.25000000000000000000\n";
    assert_eq!(place.read_budget(), written);
    // The original tells fields apart by single blanks and wants exactly three.
    assert!(place.read_budget().lines().all(|line| line.split(' ').count() == 3));
}

#[test]
fn section_6_the_spending_field_is_the_bid_and_use_is_not_stored() {
    let place = DaemonFolders::new("alice 100 0.5\n");
    let serving = place.start();
    assert_eq!(serving.ask("alice", "setSpending=2.25&queue=alice").status, 200);
    assert_eq!(serving.stop().0, 0);
    assert_eq!(place.read_budget(), "alice 100.00000000000000000000 2.25000000000000000000\n");
}

/// What the original wrote carries the remains of single precision: 0.11 as 0.10999999940395355.
#[test]
fn section_6_more_than_twelve_decimals_are_rounded_half_even_told_and_booked() {
    let place = DaemonFolders::new(
        "alice 0.10999999940395355225 0.10999999940395355225\nbob 0.0000000000005 0\ncarol 0.0000000000015 0\n",
    );
    let serving = place.start();
    assert_eq!(serving.ask("root", "addBudget=0&queue=alice").queue()[..2], ["0.109999999404", "0.109999999404"]);
    assert_eq!(serving.ask("root", "addBudget=0&queue=bob").element("budget"), "0.0");
    assert_eq!(serving.ask("root", "addBudget=0&queue=carol").element("budget"), "0.000000000002");
    let (code, log) = serving.stop();
    assert_eq!(code, 0);
    for told in [
        "rounded the amounts of 3 queues to 12 decimals",
        "queue alice: rounded to budget 0.109999999404, recorded as an adjustment, and rate 0.109999999404",
        "queue carol: rounded to budget 0.000000000002, recorded as an adjustment",
    ] {
        assert!(log.contains(told), "{log}");
    }
    let database = place.database();
    let adjusted = "SELECT group_concat(queue || ' ' || amount, ', ') FROM (SELECT * FROM ledger WHERE reason = 'adjustment' ORDER BY number)";
    let adjusted: String = database.query_row(adjusted, [], |row| row.get(0)).unwrap();
    assert_eq!(adjusted, "alice 0.109999999404, carol 0.000000000002");
}

#[test]
fn section_6_the_file_is_read_once_and_written_only_when_something_has_changed() {
    use std::os::unix::fs::MetadataExt;
    let place = DaemonFolders::new("alice 100 0.5\n");
    assert_eq!(place.start().stop().0, 0);
    let inode = |place: &DaemonFolders| fs::metadata(place.budget()).unwrap().ino();
    let before = inode(&place);
    let serving = place.start();
    let ticks =
        || place.database().query_row("SELECT max(number) FROM tick", [], |row| row.get::<_, Option<i64>>(0)).unwrap();
    let first = ticks();
    crate::daemon::child::wait_for_files(&place.path("state"), || {
        ticks() >= first.map_or(Some(2), |first| Some(first + 2))
    });
    assert_eq!(inode(&place), before, "ticks without a change write nothing");
    serving.top_up("alice", "1");
    crate::daemon::child::wait_for_files(&place.path("etc"), || inode(&place) != before);
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn section_2_the_original_classes_are_taken_as_they_are_written() {
    let overrides = &[
        "mapred.dynamic-scheduler.store=org.apache.hadoop.mapred.FileAllocationStore",
        "mapred.dynamic-scheduler.scheduler=org.apache.hadoop.mapred.PriorityScheduler",
    ];
    with_market(Terms { budgets: "alice 1 1\n", overrides, ..Terms::default() }, async |market| {
        assert_eq!(market.get("price").await.status, 200);
    });
}
