//! Requests to `/scheduler`: roles, the guard, and what each operation does.

use super::*;

fn class(answer: Result<Answer, MarketError>) -> ErrorClass {
    answer.unwrap_err().class()
}

#[test]
fn price_time_and_the_empty_request_need_no_signature() {
    let mut stage = Stage::new("alice 100 2\n");
    stage.tick((4, 0), &[("alice", 1, 0, 0)]);
    assert_eq!(stage.send("price", None).answer, Ok(Answer::Price(credits("2"))));
    let time = Answer::Time { start_ms: START, now_ms: stage.now.wall_ms };
    assert_eq!(stage.send("time&user=zed&timestamp=x", Some("nonsense")).answer, Ok(time));
    assert_eq!(stage.send("", None).answer, Ok(Answer::Frame));
}

#[test]
fn published_and_live_answers_differ_until_the_tick() {
    let mut stage = Stage::new("alice 100 0.5\n");
    stage.tick((6, 2), &[("alice", 2, 0, 7)]);
    let live = stage.info("alice", "setSpending=2&queue=alice");
    assert_eq!((live.spending, live.share.to_string().as_str()), (credits("2"), "1.000000000"));
    let live = stage.info("root", "addBudget=11&queue=alice");
    assert_eq!((live.budget, live.pending), (credits("111"), 7));
    let published = stage.info("alice", "info=alice");
    assert_eq!((published.budget, published.spending), (credits("100"), credits("0.5")));
    stage.tick((6, 2), &[("alice", 2, 0, 7)]);
    let published = stage.info("alice", "info=alice");
    assert_eq!((published.budget, published.spending, published.used), (credits("110"), credits("2"), 2));
}

#[test]
fn a_change_of_an_idle_queue_is_published_at_the_next_tick() {
    let mut stage = Stage::new("alice 100 0.5\n");
    stage.info("root", "addBudget=1&queue=alice");
    assert_eq!(stage.info("alice", "info").budget, credits("100"));
    stage.tick((6, 2), &[]);
    assert_eq!(stage.info("alice", "info").budget, credits("101"));
}

#[test]
fn infos_lists_every_queue_by_name() {
    let mut stage = Stage::new("b 1 1\na 2 2\n");
    stage.ask("root", "addQueue=aa").unwrap();
    let Ok(Answer::Queues { price, queues }) = stage.ask("root", "infos") else { panic!("no list") };
    assert_eq!(price, Credits::ZERO);
    let names: Vec<&str> = queues.iter().map(|info| info.queue.as_str()).collect();
    assert_eq!(names, ["a", "aa", "b"]);
}

#[test]
fn users_do_only_what_is_theirs() {
    let mut stage = Stage::new("alice 100 0.5\nbob 100 1\n");
    for allowed in ["info", "info=alice", "setSpending=1&queue=alice"] {
        assert!(stage.ask("alice", allowed).is_ok(), "{allowed}");
    }
    for denied in [
        "infos",
        "info=bob",
        "info=nosuch",
        "setSpending=1&queue=bob",
        "setSpending=1",
        "setSpending=abc&queue=bob",
        "addBudget=1&queue=alice",
        "addQueue=new",
        "removeQueue=alice",
    ] {
        assert_eq!(class(stage.ask("alice", denied)), ErrorClass::Denied, "{denied}");
        assert_eq!(class(stage.ask("mallory", denied)), ErrorClass::Denied, "ADMIN is not admin: {denied}");
    }
    for allowed in ["infos", "info=bob", "setSpending=1&queue=bob", "addBudget=1&queue=alice", "addQueue=new"] {
        assert!(stage.ask("root", allowed).is_ok(), "{allowed}");
    }
    assert_eq!(stage.balance("alice"), credits("101"));
}

/// Defect 34: the original denied users the documented `info` without a queue.
#[test]
fn defect_34_bare_info_is_the_signers_own_queue() {
    let mut stage = Stage::new("alice 100 0.5\n");
    assert_eq!(stage.info("alice", "info").queue, name("alice"));
    assert_eq!(stage.info("alice", "info=").queue, name("alice"));
    assert_eq!(stage.ask("root", "info"), Err(MarketError::UnknownQueue("root".to_owned())));
}

#[test]
fn a_denial_gives_a_reason_only_after_a_good_signature() {
    let mut stage = Stage::new("alice 100 0.5\n");
    let denied = stage.send("info=alice&user=alice&timestamp=1", Some("AAAA")).answer.unwrap_err();
    assert_eq!(denied.to_string(), "ACCESS DENIED: info=alice&user=alice&timestamp=1");
    assert_eq!(denied.reason_line(), None);
    let denied = stage.ask("alice", "infos").unwrap_err();
    let now = stage.now.wall_ms;
    assert_eq!(denied.to_string(), format!("ACCESS DENIED: infos&user=alice&timestamp={now}"));
    let reason = format!("infos needs the role admin, which alice has not; the server's time is {now}");
    assert_eq!(denied.reason_line(), Some(reason));
}

#[test]
fn signatures_are_consumed_once_even_by_denied_requests() {
    let mut stage = Stage::new("alice 100 0.5\n");
    let key = stage.acl.get("alice").unwrap().key.clone();
    stage.step_clock(100);
    let mut send = |query: &str| {
        let signature = sign(query, &key);
        stage.send(query, Some(&signature)).answer.map_err(|error| error.reason_line().unwrap_or_default())
    };
    let at = START + 50;
    let denied = format!("infos&user=alice&timestamp={at}");
    assert!(send(&denied).unwrap_err().starts_with("infos needs"));
    let refused = send(&denied).unwrap_err();
    assert!(refused.starts_with(&format!("the signature of timestamp {at} was used before")), "{refused}");
    assert!(send(&format!("info&user=alice&timestamp={}", at + 1)).is_ok());
    assert!(send(&format!("info&user=alice&timestamp={at}")).is_ok(), "another text, earlier than the last");
    assert!(send(&format!("user=alice&info&timestamp={}", at + 2)).is_ok(), "anywhere in the query");
    for bad in ["&timestamp=abc", "&timestamp=", "&timestamp=9223372036854775808", ""] {
        let refused = send(&format!("info&user=alice{bad}")).unwrap_err();
        assert!(refused.contains("is not a number of milliseconds"), "{refused}");
    }
}

/// Defect 5: what a servlet request changes is a fact before it is answered. So is the use of its signature, of a read's too.
#[test]
fn defect_05_changes_and_stamps_are_facts_at_once() {
    let mut stage = Stage::new("alice 100 0.5\n");
    let read = stage.handled("alice", "info").facts;
    assert!(matches!(&read[..], [MarketFact::Stamp(stamp)] if stamp.user == "alice"), "{read:?}");
    let changed = stage.handled("bob", "setSpending=1&queue=alice").facts;
    assert!(matches!(&changed[..], [MarketFact::Stamp(_)]), "denied, but consumed: {changed:?}");
    let changed = stage.handled("root", "addBudget=5&queue=alice").facts;
    assert!(matches!(&changed[..], [MarketFact::Stamp(_), MarketFact::Ledger(_), MarketFact::Account { .. }]));
    assert_eq!(stage.handled("root", "price").facts, [], "the price needs no signature");
}

/// Defect 9: a negative bid earned money, an endless one poisoned it.
#[test]
fn defect_09_no_number_mints_money() {
    let mut stage = Stage::new("alice 10 0.5\n");
    for number in ["-1", "NaN", "Infinity", "1e40", "0x1p3", "0.5f", "", "1000000000001"] {
        assert_eq!(class(stage.ask("alice", &format!("setSpending={number}&queue=alice"))), ErrorClass::BadRequest);
    }
    for number in ["-10.000000000001", "-11", "NaN", "1000000000000", "-0.0000000000001"] {
        let answer = stage.ask("root", &format!("addBudget={number}&queue=alice"));
        assert_eq!(class(answer), ErrorClass::BadRequest, "{number}");
    }
    assert_eq!((stage.balance("alice"), stage.market.account("alice").unwrap().bid()), (credits("10"), credits("0.5")));
    assert_eq!(stage.info("root", "addBudget=-10&queue=alice").budget, Credits::ZERO);
    assert_eq!(stage.market.ledger().expected_balance(), Credits::ZERO);
}

#[test]
fn money_that_the_open_interval_may_cost_stays() {
    let mut stage = Stage::new("alice 10 0.5\n");
    stage.tick((6, 2), &[("alice", 2, 0, 7)]);
    assert_eq!(stage.market.committed("alice"), credits("4"));
    assert_eq!(class(stage.ask("root", "addBudget=-6.1&queue=alice")), ErrorClass::Conflict);
    assert_eq!(stage.info("root", "addBudget=-6&queue=alice").budget, credits("4"));
    stage.tick((6, 2), &[("alice", 6, 2, 7)]);
    assert_eq!(stage.balance("alice"), Credits::ZERO);
}

/// Else its owner would move the money away while the grace runs.
#[test]
fn money_that_a_grace_may_cost_stays() {
    let mut stage = Stage::new("alice 10 0.5\n");
    stage.tick_of(PerPool::new(6, 2, 0), &[in_use("alice", (0, 0, 0), (2, 0))]);
    let step =
        GraceStep { holder: holder_of(&name("alice")), container: 1, slots: 2, rate: credits("3"), begins: true };
    stage.market.hold(&[], &[], &[step], stage.now.mono_ms, |_| Some((name("alice"), 1))).unwrap();
    let most = stage.market.committed("alice");
    assert!(most > credits("10"), "the quota's 4 and a whole interval of two slots: {most}");
    assert_eq!(class(stage.ask("root", "addBudget=-1&queue=alice")), ErrorClass::Conflict);
    stage.tick_of(PerPool::new(6, 2, 0), &[]);
    assert_eq!(stage.market.committed("alice"), Credits::ZERO, "the grace was an interval");
}

/// Defect 11: adding a queue that exists wiped its budget and rate.
#[test]
fn defect_11_an_existing_queue_is_not_added_again() {
    let mut stage = Stage::new("alice 10 0.5\n");
    let handled = stage.handled("root", "addQueue=alice");
    assert_eq!((class(handled.answer), handled.changes), (ErrorClass::Conflict, vec![]));
    assert_eq!(stage.balance("alice"), credits("10"));
    let handled = stage.handled("root", "addQueue=carol");
    assert_eq!(handled.changes, [QueueChange::Added(name("carol"))]);
}

/// Defect 12: unknown and missing queues were answered with an empty frame.
#[test]
fn defect_12_unknown_and_missing_queues_are_errors() {
    let mut stage = Stage::new("alice 10 0.5\n");
    for unknown in ["info=zed", "setSpending=1&queue=zed", "addBudget=1&queue=zed", "removeQueue=zed"] {
        assert_eq!(class(stage.ask("root", unknown)), ErrorClass::NotFound, "{unknown}");
    }
    for missing in ["setSpending=1", "addBudget=1", "addQueue", "removeQueue", "setSpending=1&queue="] {
        assert_eq!(class(stage.ask("root", missing)), ErrorClass::BadRequest, "{missing}");
    }
}

/// Defect 14: a removed queue stayed readable and its jobs hung.
#[test]
fn defect_14_a_queue_with_jobs_stays_and_a_removed_one_is_gone() {
    let mut stage = Stage::new("alice 10 0.5\nbob 5 1\n");
    stage.tick((4, 0), &[("alice", 1, 0, 1)]);
    stage.busy = vec![name("alice")];
    assert_eq!(stage.ask("root", "removeQueue=alice"), Err(MarketError::QueueBusy(name("alice"))));
    stage.busy.clear();
    let handled = stage.handled("root", "removeQueue=alice");
    assert_eq!((handled.answer, handled.changes), (Ok(Answer::Frame), vec![QueueChange::Removed(name("alice"))]));
    let closing = handled.facts.iter().find_map(|fact| match fact {
        MarketFact::Ledger(entry) => Some((entry.reason.clone(), entry.amount)),
        _ => None,
    });
    assert_eq!(closing, Some((Reason::Closing, credits("10"))));
    assert_eq!(class(stage.ask("root", "info=alice")), ErrorClass::NotFound);
    assert_eq!(stage.tick((4, 0), &[("alice", 1, 0, 1)]).queue_ticks, []);
    assert_eq!((stage.market.total(), stage.market.ledger().expected_balance()), (credits("5"), credits("5")));
}

/// Defect 15: a user taken out of the ACL kept access until the restart.
#[test]
fn defect_15_the_acl_is_exactly_the_file() {
    let mut stage = Stage::new("alice 10 0.5\n");
    assert!(stage.ask("alice", "info").is_ok());
    let query = format!("info&user=alice&timestamp={}", stage.now.wall_ms + 1);
    let signature = sign(&query, &stage.acl.get("alice").unwrap().key);
    stage.acl = Acl::parse("bob user bobkey\n", "acl").unwrap();
    assert_eq!(class(stage.send(&query, Some(&signature)).answer), ErrorClass::Denied);
}
