//! A daemon under FIFO with an ACL file: the market's operations answer, and nothing of FIFO depends on them.

use crate::dynamic_priority::market::{Market, Terms, with_market};

use jobtracker::model::RunState;

const BUDGETS: &str = "alice 100 0.5\nbob 10 1\n";

/// A market that does not rule.
fn with_idle_market<F: Future<Output = ()>>(test: impl FnOnce(Market) -> F) {
    let overrides = &["mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler"];
    with_market(Terms { budgets: BUDGETS, overrides, ..Terms::default() }, test);
}

#[test]
fn price_and_shares_are_0_and_info_shows_the_present_budget() {
    with_idle_market(async |market| {
        assert_eq!(market.price().await, "0.0");
        assert_eq!(market.get("time").await.status, 200);
        assert_eq!(market.info("alice").await, ["100.0", "0.0", "0.000000000", "0", "0"]);
        assert_eq!(market.ask("root", "addBudget=5.5&queue=alice").await.queue()[0], "105.5");
        assert_eq!(market.info("alice").await, ["105.5", "0.0", "0.000000000", "0", "0"]);
        assert_eq!(market.ask("root", "addBudget=-105.5&queue=alice").await.queue()[0], "0.0");
        let infos = market.ask("root", "infos").await;
        assert!(infos.body.contains("<price>0.0</price>") && infos.body.contains("name=\"bob\""), "{}", infos.body);
    });
}

#[test]
fn rates_and_accounts_change() {
    with_idle_market(async |market| {
        assert_eq!(market.ask("alice", "setSpending=3&queue=alice").await.queue()[1], "3.0");
        assert_eq!(market.info("alice").await[1], "0.0", "in force once the market rules");
        assert_eq!(market.status("root", "addQueue=carol").await, 200);
        assert_eq!(market.status("root", "addQueue=carol").await, 409);
        assert_eq!(market.status("root", "removeQueue=bob").await, 200);
        assert_eq!(market.status("root", "info=bob").await, 404);
        let live = market.request("GET", &live_status(&market), "").await;
        assert!(live.is_denied(), "unsigned");
    });
}

fn live_status(market: &Market) -> String {
    format!("/scheduler/queues?queues&user=root&timestamp={}", market.next_ms())
}

#[test]
fn a_quote_says_that_the_market_does_not_rule() {
    with_idle_market(async |market| {
        let answer = market.ask("alice", "quote=1&queue=alice").await;
        assert_eq!(answer.status, 409);
        let why = "the market does not rule: no rate buys slots while the scheduler is another one";
        assert_eq!(answer.element("error"), why);
    });
}

#[test]
fn requests_are_signed_as_ever() {
    with_idle_market(async |market| {
        assert!(market.get("infos").await.is_denied());
        assert!(market.ask("alice", "info=bob").await.is_denied());
        assert!(market.ask("alice", "addBudget=1&queue=alice").await.is_denied());
        let query = format!("info&user=alice&timestamp={}", market.next_ms());
        assert_eq!(market.get_signed("alice", &query).await.status, 200);
        assert!(market.get_signed("alice", &query).await.is_denied(), "used");
    });
}

#[test]
fn the_bare_address_is_the_page_of_a_scheduler_that_has_none() {
    with_idle_market(async |market| {
        for target in ["/scheduler", "/scheduler?"] {
            assert_eq!(market.request("GET", target, "").await.status, 404, "{target}");
        }
        let page = market.request("GET", "/", "").await.body;
        assert!(!page.contains("Price") && !page.contains("Cost"), "{page}");
        let metrics = market.request("GET", "/metrics", "").await.body;
        assert!(!metrics.contains("jobtracker_market_price"), "{metrics}");
        assert!(metrics.contains("jobtracker_acl_file_good 1"), "{metrics}");
    });
}

#[test]
fn jobs_need_no_signature_and_cost_nothing() {
    with_idle_market(async |market| {
        let mut worker = market.worker(2, 1).await;
        let one_map = ("mapred.map.tasks".to_owned(), "1".to_owned());
        let job = market.submit_with("zed", std::slice::from_ref(&one_map), 1).await.unwrap();
        worker.fill().await;
        assert_eq!(market.run_state(job).await, Some(RunState::Running));
        assert_eq!(market.budget("alice").await, "100.0");
        let answer = market.request("GET", &format!("/scheduler/explain?job={job}"), "").await;
        assert_eq!(answer.status, 200, "unsigned: {}", answer.body);
        assert!(!answer.body.contains("\"market\"") && !answer.body.contains("\"cost\""), "{}", answer.body);
        let mut foreign = market.job_signature("alice");
        foreign.retain(|(name, _)| name != "mapreduce.job.queue.name");
        foreign.push(one_map);
        let unchecked = market.submit_with("bob", &foreign, 1).await;
        assert!(unchecked.is_ok(), "no signature is looked at: {unchecked:?}");
    });
}
