//! What we add to the document for bidders, through the daemon: a quote is what the next tick does, a waiting job hears why
//! and what would move it, the jobs of a queue cost what the queue pays.

use crate::dynamic_priority::market::{Market, but_for_the_wait, key_of, with_budgets};

use jobtracker::api::{Explanation, PendingReason};
use jobtracker::market::signature::sign;
use jobtracker::model::{Credits, JobId};

async fn explain(market: &Market, user: &str, job: JobId) -> (u16, String) {
    let query = format!("job={job}&user={user}&timestamp={}", market.next_ms());
    let header = format!("Authorization: {}\r\n", sign(&query, &key_of(user)));
    let answer = market.request("GET", &format!("/scheduler/explain?{query}"), &header).await;
    (answer.status, answer.body)
}

async fn explained(market: &Market, user: &str, job: JobId) -> Explanation {
    serde_json::from_str(&explain(market, user, job).await.1).unwrap()
}

#[test]
fn a_quote_is_what_the_next_tick_grants() {
    with_budgets("alice 100 1\nbob 100 3\n", async |market| {
        let mut worker = market.worker(8, 4).await;
        market.submit("alice", 20, 0).await;
        market.submit("bob", 20, 0).await;
        market.tick().await;
        worker.fill().await;
        let quote = market.ask("alice", "quote=3&queue=alice").await;
        let told = ["price", "share", "mapSlots", "reduceSlots", "budget"].map(|name| quote.element(name));
        // Their jobs have no reduces.
        assert_eq!(told[..4], ["6.0", "0.500000000", "4", "0"]);
        assert_eq!(but_for_the_wait(&told[4]), "98.0");
        market.ask("alice", "setSpending=3&queue=alice").await;
        market.tick().await;
        assert_eq!(market.price().await, told[0]);
        let [budget, rate, share, ..] = market.info("alice").await;
        assert_eq!([budget, rate, share], [told[4].clone(), "3.0".to_owned(), told[1].clone()]);
    });
}

#[test]
fn a_waiting_job_hears_what_would_move_it() {
    with_budgets("alice 100 3\nbob 100 1\n", async |market| {
        let mut worker = market.worker(4, 0).await;
        market.submit("alice", 20, 0).await;
        market.tick().await;
        worker.fill().await;
        let job = market.submit("bob", 8, 0).await;
        assert_eq!(explained(&market, "bob", job).await.why[0], PendingReason::SetupWaits);
        market.tick().await;
        let told = explained(&market, "bob", job).await;
        let moving = told.market.unwrap().moving.unwrap();
        assert_eq!(moving.quota.map, 1, "it holds none, and one is what it pays for");
        let (status, body) = explain(&market, "bob", job).await;
        assert_eq!(status, 200);
        assert!(!body.contains("alice"), "{body}");
        assert!(explain(&market, "root", job).await.1.contains("alice"));
        assert_eq!(explain(&market, "alice", job).await.0, 500, "it is another's");
        assert_eq!(explain(&market, "alice", JobId::new(job.identifier, 4711)).await.0, 404);
    });
}

#[test]
fn jobs_cost_together_what_their_queue_pays() {
    with_budgets("alice 100 0.3\nbob 100 0.4\n", async |market| {
        let mut worker = market.worker(5, 2).await;
        let jobs = [market.submit("alice", 1, 1).await, market.submit("alice", 9, 0).await];
        market.submit("bob", 9, 2).await;
        market.tick().await;
        worker.fill().await;
        for _ in 0..3 {
            market.tick().await;
        }
        let mut cost = 0;
        for job in jobs {
            cost += explained(&market, "alice", job).await.cost.unwrap().units();
        }
        let paid = "100".parse::<Credits>().unwrap().checked_sub(market.budget("alice").await.parse().unwrap());
        assert_eq!(Some(Credits::from_units(cost)), paid);
        assert!(cost > 0);
        let page = market.request("GET", "/", "").await.body;
        let cost = explained(&market, "root", jobs[0]).await.cost.unwrap();
        assert!(page.contains(&format!("data-metric=\"cost\" data-value=\"{cost}\"")), "{cost} in {page}");
    });
}
