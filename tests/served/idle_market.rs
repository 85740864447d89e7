//! The market's files under FIFO: budgets come in once, whatever rules then, and no ACL file means no market.

use std::fs;

use crate::daemon::child::DaemonFolders;

const FIFO: &str = "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler";

fn under_fifo() -> DaemonFolders {
    let mut place = DaemonFolders::new("alice 100 1\nbob 7.5 0.25\n");
    place.overrides.push(FIFO.to_owned());
    place
}

fn endowments(place: &DaemonFolders) -> i64 {
    let sql = "SELECT count(*) FROM ledger WHERE reason = 'endowment'";
    place.database().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn budgets_come_in_once_whatever_rules_then() {
    let mut place = under_fifo();
    let serving = place.start();
    serving.log.wait_for("the market does not rule, it keeps the accounts of the users in");
    assert_eq!(serving.ask("root", "info=alice").queue()[..2], ["100.0", "0.0"]);
    serving.top_up("alice", "1");
    assert_eq!(serving.stop().0, 0);
    assert!(place.read_budget().starts_with("alice 101."), "{}", place.read_budget());
    place.overrides.clear();
    let serving = place.start();
    assert_eq!(serving.ask("root", "addBudget=0&queue=alice").queue()[..2], ["101.0", "1.0"]);
    assert_eq!(serving.stop().0, 0);
    assert_eq!((endowments(&place), place.balance("bob").as_deref()), (2, Some("7.5")));
}

#[test]
fn without_a_budget_file_the_market_begins_without_accounts() {
    let place = under_fifo();
    fs::remove_file(place.budget()).unwrap();
    let serving = place.start();
    serving.log.wait_for("the market has no accounts: there is no budget file");
    assert_eq!(serving.ask("root", "info=alice").status, 404);
    assert_eq!(serving.stop().0, 0);
    assert!(!place.budget().exists());
    fs::write(place.budget(), "alice 60 2\n").unwrap();
    let serving = place.start();
    assert_eq!(serving.ask("root", "info=alice").queue()[0], "60.0");
    assert_eq!(serving.stop().0, 0);
    assert_eq!(endowments(&place), 1);
}

#[test]
fn without_an_acl_file_there_is_no_market() {
    let place = under_fifo();
    fs::remove_file(place.acl()).unwrap();
    let serving = place.start();
    let answer = serving.ask("root", "info=alice");
    assert_eq!(answer.status, 404);
    assert!(answer.body.contains("The scheduler in use has no market"), "{}", answer.body);
    assert_eq!(serving.stop().0, 0);
    assert_eq!((endowments(&place), place.balance("alice")), (0, None));
}

#[test]
fn a_bad_acl_file_refuses_the_start() {
    let place = under_fifo();
    fs::write(place.acl(), "alice user alicekey\nbob\n").unwrap();
    let (status, log) = place.try_start(&[]).err().unwrap();
    assert_eq!(status.code(), Some(2));
    assert!(log.contains("hadoop.acl:2"), "{log}");
}
