//! A market that does not rule: accounts move, nothing is sold.

use super::*;

fn suspended() -> (Stage, Option<MarketFact>) {
    let mut stage = Stage::new("alice 100 1\nbob 50 0\n");
    stage.tick((4, 2), &[("alice", 2, 0, 5)]);
    let fact = stage.market.suspend(stage.now);
    stage.facts.extend(fact.clone());
    (stage, fact)
}

#[test]
fn what_was_sold_ends_and_all_money_may_be_withdrawn() {
    let (mut stage, fact) = suspended();
    let Some(MarketFact::Tick(tick)) = fact else { panic!("{fact:?}") };
    assert_eq!((tick.number, tick.price, tick.queue_ticks.len()), (2, Credits::ZERO, 0));
    assert!(!stage.market.is_ruling());
    assert_eq!(stage.ask("root", "price"), Ok(Answer::Price(Credits::ZERO)));
    assert_eq!(stage.market.committed("alice"), Credits::ZERO);
    stage.info("root", "addBudget=-100&queue=alice");
    assert_eq!(stage.market.suspend(stage.now), None, "nothing is left to end");
    assert_eq!(stage.market.ledger().charged, Credits::ZERO);
}

#[test]
fn info_shows_the_present_balance_and_no_share() {
    let (mut stage, _) = suspended();
    stage.info("root", "addBudget=7&queue=alice");
    stage.info("alice", "setSpending=3&queue=alice");
    let info = stage.info("alice", "info");
    assert_eq!((info.budget, info.spending, info.share), (credits("107"), Credits::ZERO, Share::ZERO));
    assert_eq!((info.used, info.pending), (0, 0));
    assert_eq!(stage.market.account("alice").unwrap().bid(), credits("3"), "it counts once the market rules");
    let Ok(Answer::Queues { price, queues }) = stage.ask("root", "infos") else { panic!("no queues") };
    assert_eq!((price, queues[0].clone(), queues.len()), (Credits::ZERO, info, 2));
}

#[test]
fn a_quote_says_that_the_market_does_not_rule() {
    let (mut stage, _) = suspended();
    assert_eq!(stage.ask("alice", "quote=1&queue=alice"), Err(MarketError::NotRuling));
    assert_eq!(MarketError::NotRuling.class(), ErrorClass::Conflict);
    let unknown = stage.ask("root", "quote=1&queue=carol");
    assert_eq!(unknown, Err(MarketError::UnknownQueue("carol".to_owned())));
    let denied = stage.ask("bob", "quote=1&queue=alice");
    assert!(matches!(denied, Err(MarketError::Denied { .. })), "{denied:?}");
}

#[test]
fn its_facts_rebuild_it() {
    let (mut stage, _) = suspended();
    stage.info("root", "addBudget=7&queue=alice");
    stage.info("root", "addQueue=carol");
    let mut rebuilt = Market::new(MarketConfig::default(), START);
    stage.facts.iter().for_each(|fact| rebuilt.apply(fact));
    assert_eq!(rebuilt.suspend(stage.now), None);
    assert_eq!(
        (rebuilt.total(), rebuilt.ledger(), rebuilt.price()),
        (stage.market.total(), stage.market.ledger(), stage.market.price())
    );
    for queue in ["alice", "bob", "carol"] {
        assert_eq!(rebuilt.account(queue), stage.market.account(queue), "{queue}");
    }
}

#[test]
fn a_market_that_has_sold_nothing_has_nothing_to_end() {
    let mut stage = Stage::new("alice 100 1\n");
    assert_eq!(stage.market.suspend(stage.now), None);
}
