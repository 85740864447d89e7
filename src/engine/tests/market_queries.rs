//! Quotes and standings of the whole engine: the next tick does what they announce.

use crate::api::QueueStatus;
use crate::engine::Fact;
use crate::market::{Answer, MarketFact, OperationKind, ParsedQuery, Quote};
use crate::model::{Credits, PerPool};

use super::cluster::{Cluster, dynamic, spec};
use super::market::{credits, market, market_under};
use super::preemption::{hang, live};

/// alice has all six slots for 1 each, bob waits behind with a bid of 2.
fn contest() -> Cluster {
    let mut cluster = market_under(dynamic(), &[("alice", "100", "1"), ("bob", "100", "2"), ("carol", "9", "0")]);
    cluster.add_tracker("h0", 6, 2);
    cluster.pass_ms(1);
    let signature = cluster.signature("alice");
    cluster.submit_signed(spec("alice", "alice", 20, 0), signature).unwrap();
    live(&mut cluster, 3_000, hang);
    let signature = cluster.signature("bob");
    cluster.submit_signed(spec("bob", "bob", 20, 0), signature).unwrap();
    cluster
}

fn quote(cluster: &mut Cluster, queue: &str, rate: &str) -> Quote {
    cluster.pass_ms(1);
    match cluster.admin_asks(&format!("quote={rate}&queue={queue}")) {
        Ok(Answer::Quote(quote)) => quote,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_quote_is_what_the_timer_then_does() {
    for (queue, rate) in [("alice", "4"), ("bob", "0.5"), ("bob", "200"), ("alice", "0"), ("bob", "12.5")] {
        let mut cluster = contest();
        let facts = cluster.facts.len();
        let quoted = quote(&mut cluster, queue, rate);
        let changed = &cluster.facts[facts..];
        assert!(matches!(changed, [Fact::Market(MarketFact::Stamp(_))]), "a quote changes nothing else: {changed:?}");
        cluster.pass_ms(1);
        cluster.admin_asks(&format!("setSpending={rate}&queue={queue}")).unwrap();
        cluster.now.mono_ms = cluster.engine.rounds.update.due_mono_ms();
        cluster.timer();
        let account = cluster.engine.market().unwrap().account(queue).unwrap();
        let granted = account.interval().unwrap();
        assert_eq!((granted.share, granted.quota), (quoted.share, quoted.quota), "{queue} at {rate}");
        assert_eq!((account.balance(), quoted.rate), (quoted.balance, credits(rate)));
        assert_eq!(cluster.engine.market().unwrap().price(), quoted.price);
    }
}

#[test]
fn an_idle_queue_is_quoted_as_if_it_had_work() {
    let mut cluster = contest();
    let quoted = quote(&mut cluster, "carol", "3");
    assert_eq!(
        (quoted.quota, quoted.running),
        (PerPool::new(2, 1, 0), PerPool::default()),
        "9 credits pay three slots"
    );
    assert_eq!((quoted.full_use_lasts_s, quoted.present_use_lasts_s), (Some(1), None));
}

#[test]
fn standings_tell_how_long_money_lasts() {
    let mut cluster = contest();
    let standings = |cluster: &mut Cluster, queries: &str| -> Vec<QueueStatus> {
        cluster.pass_ms(1);
        let query = format!("{queries}&user=root&timestamp={}", cluster.now.wall_ms);
        match cluster.ask(ParsedQuery::parse_queue_status(&query).unwrap(), true) {
            Ok(Answer::QueueStatuses(queues)) => queues,
            other => panic!("{other:?}"),
        }
    };
    let all = standings(&mut cluster, "queues");
    let names: Vec<&str> = all.iter().map(|standing| standing.queue.as_str()).collect();
    assert_eq!(names, ["alice", "bob", "carol"]);
    let alice = &all[0];
    assert_eq!((alice.running, alice.quota, alice.rate), (PerPool::new(6, 0, 0), PerPool::new(6, 0, 0), credits("1")));
    let seconds = alice.budget.units() / credits("6").units();
    assert_eq!(alice.lasts_s, Some(seconds as u64));
    assert_eq!((all[1].bid, all[1].rate, all[1].lasts_s, all[1].pending), (credits("2"), Credits::ZERO, None, 20));
    assert_eq!(standings(&mut cluster, "queues=bob"), all[1..2]);
}

#[test]
fn users_see_their_own_queue_only() {
    let mut cluster = market(&[("alice", "100", "1"), ("bob", "100", "2")]);
    let mut asked = |query: &str| {
        cluster.pass_ms(1);
        let query = format!("{query}&user=alice&timestamp={}", cluster.now.wall_ms);
        let parsed = match ParsedQuery::parse_queue_status(&query) {
            Ok(parsed) => parsed,
            Err(_) => ParsedQuery::parse(&query).unwrap(),
        };
        let is_quote = parsed.kind == OperationKind::Quote;
        (is_quote, cluster.ask(parsed, false))
    };
    match asked("queues") {
        (false, Ok(Answer::QueueStatuses(queues))) => {
            assert_eq!((queues.len(), queues[0].queue.as_str()), (1, "alice"));
        }
        other => panic!("{other:?}"),
    }
    for query in ["queues=bob", "quote=1&queue=bob", "queues=unknown", "quote=1"] {
        assert!(asked(query).1.unwrap_err().to_string().starts_with("ACCESS DENIED"), "{query}");
    }
    assert!(matches!(asked("quote=1&queue=alice"), (true, Ok(Answer::Quote(_)))));
}
