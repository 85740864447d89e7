//! Deadline orders: what they bid, when they do not, and how they end.

use std::collections::BTreeMap;

use crate::api::{OrderState, OrderStatus};
use crate::engine::{Caller, Event, Fact};
use crate::mapreduce::JobSpec;
use crate::market::{Answer, Interval, MarketFact, OrderEnd, ParsedQuery, answer};
use crate::model::{Credits, JobId, Kind, OrderTerms, PerPool};
use crate::scheduler::constraint::{DeadlineChange, DeadlineSpec, Due, KeySpread, StatedCost};

use super::cluster::{Cluster, Fate, spec};
use super::market::{credits, market};
use super::preemption::{hang, live};

/// Maps of twenty seconds each.
pub(super) fn slow(user: &str, maps: u32) -> JobSpec {
    let deadline = DeadlineSpec {
        due: Due::AfterMs(600_000),
        map: Some(StatedCost::TaskMs(20_000)),
        reduce: None,
        copy_us_per_mb: None,
        filter_millionths: None,
        keys: KeySpread::Uniform,
    };
    JobSpec { deadline: Some(deadline), ..spec(user, user, maps, 0) }
}

pub(super) fn submit(cluster: &mut Cluster, spec: JobSpec) -> JobId {
    cluster.pass_ms(1);
    let signature = cluster.signature(&spec.user.clone());
    cluster.submit_signed(spec, signature).unwrap()
}

/// Ten map slots, all of which the one who came first holds. alice and bob bid 1 each.
fn contest(first: &str) -> (Cluster, JobId) {
    let mut cluster = market(&[("alice", "1000", "1"), ("bob", "1000", "1")]);
    cluster.add_tracker("h0", 10, 0);
    let second = if first == "bob" { "alice" } else { "bob" };
    let mut jobs = BTreeMap::new();
    for user in [first, second] {
        jobs.insert(user, submit(&mut cluster, slow(user, if user == "bob" { 40 } else { 16 })));
        live(&mut cluster, 900, hang);
    }
    tick(&mut cluster);
    (cluster, jobs["alice"])
}

pub(super) fn ask(cluster: &mut Cluster, user: &str, operation: &str) -> Result<Answer, String> {
    cluster.pass_ms(1);
    let query = format!("{operation}&user={user}&timestamp={}", cluster.now.wall_ms);
    cluster.ask(ParsedQuery::parse(&query).unwrap(), user == "root").map_err(|error| error.to_string())
}

/// An order to be done in so many seconds.
fn bid(cluster: &mut Cluster, job: JobId, seconds: i64, rest: &str) -> Result<Answer, String> {
    let deadline = cluster.now.wall_ms + 1_000 * seconds;
    ask(cluster, "alice", &format!("bid={job}&deadline={deadline}&{rest}"))
}

pub(super) fn tick(cluster: &mut Cluster) {
    cluster.pass_ms(cluster.engine.rounds.update.due_mono_ms().saturating_sub(cluster.now.mono_ms));
    cluster.timer();
}

pub(super) fn interval(cluster: &Cluster) -> Interval {
    *cluster.engine.market().unwrap().account("alice").unwrap().interval().unwrap()
}

pub(super) fn rate(cluster: &Cluster) -> Credits {
    interval(cluster).share.rate()
}

pub(super) fn status(cluster: &mut Cluster) -> Option<OrderStatus> {
    cluster.pass_ms(1);
    let query = format!("queues=alice&user=alice&timestamp={}", cluster.now.wall_ms);
    match cluster.ask(ParsedQuery::parse_queue_status(&query).unwrap(), false) {
        Ok(Answer::QueueStatuses(queues)) => queues[0].orders.first().cloned(),
        other => panic!("{other:?}"),
    }
}

fn end(cluster: &Cluster) -> Option<OrderEnd> {
    cluster.facts.iter().rev().find_map(|fact| match fact {
        Fact::Market(MarketFact::OrderEnded { end, .. }) => Some(*end),
        _ => None,
    })
}

#[test]
fn an_order_bids_the_least_rate_that_buys_what_its_job_needs_and_follows_the_others() {
    let (mut cluster, job) = contest("bob");
    bid(&mut cluster, job, 65, "maxRate=100").unwrap();
    assert_eq!(status(&mut cluster).unwrap().state, OrderState::New);
    tick(&mut cluster);
    // Three rounds of maps: six at a time.
    assert!(interval(&cluster).quota.map >= 6, "{:?}", interval(&cluster));
    assert_eq!(interval(&cluster).by_order, Some(job));
    assert_eq!(status(&mut cluster).unwrap().state, OrderState::OnTime);
    for others in ["4", "9.5", "2"] {
        ask(&mut cluster, "bob", &format!("setSpending={others}&queue=bob")).unwrap();
        tick(&mut cluster);
        assert!(interval(&cluster).quota.map >= 6);
        assert!(rate(&cluster) > credits("1"), "{}", rate(&cluster));
    }
    // Without contention it costs what the owner bids.
    ask(&mut cluster, "bob", "setSpending=0&queue=bob").unwrap();
    tick(&mut cluster);
    assert_eq!((rate(&cluster), interval(&cluster).by_order), (credits("1"), None));
    assert_eq!(cluster.engine.market().unwrap().account("alice").unwrap().bid(), credits("1"));
}

#[test]
fn one_unit_less_than_an_order_bids_buys_too_little() {
    let (mut cluster, job) = contest("bob");
    bid(&mut cluster, job, 65, "maxRate=100").unwrap();
    tick(&mut cluster);
    let rate = rate(&cluster).units();
    for (units, maps) in [(rate, 6), (rate - 1, 5)] {
        let (mut other, _) = contest("bob");
        other.pass_ms(1);
        match other.admin_asks(&format!("quote={}&queue=alice", Credits::from_units(units))) {
            Ok(Answer::Quote(quote)) => assert_eq!(quote.quota.map, maps),
            answer => panic!("{answer:?}"),
        }
    }
}

#[test]
fn an_order_never_bids_above_its_highest_rate_and_says_what_would_do() {
    let (mut cluster, job) = contest("bob");
    let counts = |cluster: &Cluster| cluster.engine.build_snapshot(cluster.now).value.orders;
    assert_eq!(counts(&cluster), Some([0; 4]));
    bid(&mut cluster, job, 45, "maxRate=1.5").unwrap();
    assert_eq!(counts(&cluster).map(|counts| counts.iter().sum::<u64>()), Some(1));
    tick(&mut cluster);
    let order = status(&mut cluster).unwrap();
    assert_eq!((rate(&cluster), order.state), (credits("1.5"), OrderState::AtRisk));
    assert_eq!(counts(&cluster), Some([0, 0, 1, 0]));
    let sufficient = order.sufficient_rate.unwrap();
    assert!(sufficient > credits("1.5"));
    bid(&mut cluster, job, 45, &format!("maxRate={sufficient}")).unwrap();
    tick(&mut cluster);
    assert_eq!(
        (status(&mut cluster).unwrap().state, status(&mut cluster).unwrap().sufficient_rate),
        (OrderState::OnTime, None)
    );
    assert_eq!(counts(&cluster), Some([0, 1, 0, 0]));
    // More maps than the cluster has slots.
    bid(&mut cluster, job, 22, "maxRate=3").unwrap();
    tick(&mut cluster);
    let order = status(&mut cluster).unwrap();
    assert_eq!((rate(&cluster), order.state, order.sufficient_rate), (credits("3"), OrderState::AtRisk, None));
}

#[test]
fn an_order_buys_no_interval_that_could_cost_more_than_the_job_may() {
    let (mut cluster, job) = contest("alice");
    ask(&mut cluster, "bob", "setSpending=4&queue=bob").unwrap();
    bid(&mut cluster, job, 65, "maxRate=100&maxCost=120").unwrap();
    let cost = |cluster: &Cluster| {
        let job = cluster.engine.jobs.get(job).unwrap();
        cluster.engine.market.as_ref().unwrap().costs.of(job).unwrap().cost
    };
    let mut bought = 0;
    loop {
        tick(&mut cluster);
        live(&mut cluster, 900, hang);
        if interval(&cluster).by_order.is_none() {
            break;
        }
        bought += 1;
    }
    assert!(bought > 1, "{bought}");
    assert_eq!((rate(&cluster), status(&mut cluster).unwrap().state), (credits("1"), OrderState::Spent));
    assert!(cost(&cluster) <= credits("120") && cost(&cluster) > credits("60"), "{}", cost(&cluster));
}

#[test]
fn the_job_of_an_order_comes_first_in_its_queue() {
    let mut cluster = market(&[("alice", "1000", "1")]);
    cluster.add_tracker("h0", 4, 0);
    let first = submit(&mut cluster, slow("alice", 40));
    let second = submit(&mut cluster, slow("alice", 40));
    let order = bid(&mut cluster, second, 300, "maxRate=1").unwrap();
    insta::assert_snapshot!(answer::render(&order, "h").replace(&second.to_string(), "JOB").replace(&(cluster.now.wall_ms + 299_999).to_string(), "DEADLINE"), @r#"
    <QueueInfo>
      <host>h</host>
      <queue name="alice">
        <budget>1000.0</budget>
        <spending>1.0</spending>
        <share>0.000000000</share>
        <used>0</used>
        <pending>0</pending>
      </queue>
      <order job="JOB">
        <deadline>DEADLINE</deadline>
        <maxRate>1.0</maxRate>
        <state>AT_RISK</state>
      </order>
    </QueueInfo>
    "#);
    live(&mut cluster, 900, hang);
    let running = |cluster: &Cluster, job| cluster.engine.jobs.get(job).unwrap().running()[Kind::Map];
    assert_eq!((running(&cluster, first), running(&cluster, second)), (0, 4));
    ask(&mut cluster, "alice", &format!("unbid={second}")).unwrap();
    assert_eq!(end(&cluster), Some(OrderEnd::Unbid));
    assert_eq!(
        ask(&mut cluster, "alice", &format!("unbid={second}")).unwrap_err(),
        format!("unbid: there is no order for {second}")
    );
    cluster.beat(0, |_| Fate::Succeed);
    live(&mut cluster, 900, hang);
    assert_eq!((running(&cluster, first), running(&cluster, second)), (4, 0));
}

#[test]
fn an_order_lasts_over_restarts_until_its_job_is_over_or_its_deadline_has_passed() {
    let (mut cluster, job) = contest("bob");
    bid(&mut cluster, job, 65, "maxRate=100&maxCost=500").unwrap();
    tick(&mut cluster);
    let before = interval(&cluster);
    cluster.crash(1_000, hang);
    assert_eq!(interval(&cluster), before);
    let order = status(&mut cluster).unwrap();
    assert_eq!((order.job, order.max_rate, order.max_cost), (job, credits("100"), Some(credits("500"))));
    live(&mut cluster, 900, hang);
    tick(&mut cluster);
    assert_eq!(interval(&cluster).by_order, Some(job));
    cluster.pass_ms(70_000);
    tick(&mut cluster);
    assert_eq!((status(&mut cluster), end(&cluster), rate(&cluster)), (None, Some(OrderEnd::Passed), credits("1")));
    bid(&mut cluster, job, 65, "maxRate=100").unwrap();
    cluster.step(Event::KillJob { id: job, caller: Caller::named("alice") });
    live(&mut cluster, 3_000, |_| Fate::Succeed);
    assert_eq!((status(&mut cluster), end(&cluster)), (None, Some(OrderEnd::JobOver)));
    cluster.crash(1_000, hang);
    assert_eq!(status(&mut cluster), None);
}

#[test]
fn a_job_may_bring_its_order_which_is_tested_with_it() {
    let (mut cluster, _) = contest("bob");
    let with = |max_rate: &str, seconds: u64| {
        let mut job = slow("alice", 16);
        job.deadline.as_mut().unwrap().due = Due::AfterMs(1_000 * seconds);
        JobSpec { order: Some(OrderTerms { max_rate: credits(max_rate), max_cost: None }), ..job }
    };
    cluster.pass_ms(1);
    let signature = cluster.signature("alice");
    let refusal = cluster.submit_signed(with("0.5", 65), signature).unwrap_err().to_string();
    assert!(
        refusal.ends_with("rejected by the market: maxRate: 0.5 is below 1.0, which queue alice bids anyway"),
        "{refusal}"
    );
    let job = submit(&mut cluster, with("100", 65));
    tick(&mut cluster);
    assert_eq!(interval(&cluster).by_order, Some(job));
    let cleared = Event::SetDeadline { id: job, change: DeadlineChange::Clear, caller: Caller::named("alice") };
    let refusal = format!("{:?}", cluster.step(cleared).0);
    assert!(
        refusal.contains(&format!("an order of the market keeps the deadline of {job}"))
            && refusal.contains(&format!("unbid={job} to withdraw it")),
        "{refusal}"
    );
    let report = cluster.engine.job_status(job).value.unwrap().scheduling_info.0;
    assert!(
        report.starts_with("Deadline 65.0 s (left 64.") && report.ends_with("ON_TIME). Order: rate at most 100.0.")
    );
    // A task cannot be cut, whatever the order may bid.
    let late = submit(&mut cluster, with("100", 1));
    let report = cluster.engine.job_status(late).value.unwrap().scheduling_info.0;
    assert!(report.contains("AT_RISK). Order: rate at most 100.0. But a map alone takes "), "{report}");
    assert!(report.ends_with(", at any rate."), "{report}");
    cluster.crash(1_000, hang);
    assert_eq!(status(&mut cluster).unwrap().job, job);
}

#[test]
fn what_cannot_stand_is_refused_and_changes_nothing() {
    let (mut cluster, job) = contest("alice");
    tick(&mut cluster);
    live(&mut cluster, 900, hang);
    tick(&mut cluster);
    let mut refusals = Vec::new();
    let now_ms = cluster.now.wall_ms;
    let later = now_ms + 60_000;
    for (user, operation) in [
        ("alice", format!("bid={job}&deadline={later}")),
        ("alice", format!("bid={job}&maxRate=3")),
        ("alice", format!("bid=job_9&deadline={later}&maxRate=3")),
        ("alice", format!("bid=job_209901010000_0009&deadline={later}&maxRate=3")),
        ("alice", format!("bid={job}&deadline=0&maxRate=3")),
        ("alice", format!("bid={job}&deadline=9223372036854775808&maxRate=3")),
        ("alice", format!("bid={job}&deadline={later}&maxRate=0.5")),
        ("alice", format!("bid={job}&deadline={later}&maxRate=-3")),
        ("alice", format!("bid={job}&deadline={later}&maxRate=many")),
        ("alice", format!("bid={job}&deadline={later}&maxRate=3&maxCost=0.1")),
        ("alice", format!("bid={job}&deadline={later}&maxRate=3&maxRate=4")),
        ("bob", format!("bid={job}&deadline={later}&maxRate=3")),
        ("bob", format!("unbid={job}")),
    ] {
        let refusal = ask(&mut cluster, user, &operation).unwrap_err();
        let refusal = refusal.replace(&job.to_string(), "JOB").replace(&later.to_string(), "LATER");
        let wall_ms = cluster.now.wall_ms.to_string();
        refusals.push(refusal.replace(&wall_ms, "NOW"));
    }
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    bid needs a parameter maxRate
    bid needs a parameter deadline
    bid: "job_9" is not the id of a job
    bid: there is no job job_209901010000_0009
    deadline: 1970-01-01T00:00:00Z passed 20778 d 9 h ago
    deadline: "9223372036854775808" is not a whole number
    maxRate: 0.5 is below 1.0, which queue alice bids anyway
    maxRate: -3.0 is negative
    maxRate: "many" is not a decimal number such as 12.5
    maxCost: JOB has cost 15.0, and 0.1 is less
    the parameter maxRate is given more than once
    ACCESS DENIED: bid=JOB&deadline=LATER&maxRate=3&user=bob&timestamp=NOW
    ACCESS DENIED: unbid=JOB&user=bob&timestamp=NOW
    "#);
    assert_eq!(status(&mut cluster), None);
    assert_eq!(interval(&cluster).quota, PerPool::new(5, 0, 0));
}
