//! Quotes of deadline orders: they are what the tick buys.

use crate::api::{OrderQuote, OrderState};
use crate::engine::DeadlineQuestion;
use crate::mapreduce::JobSpec;
use crate::market::{MarketError, OrderError};
use crate::model::{OrderTerms, PerKind, QueueName};
use crate::scheduler::constraint::{Due, InputVolume, StatedCost};

use super::cluster::{Cluster, fifo};
use super::deadline_orders::{interval, rate, slow, status, submit, tick};
use super::market::{credits, market, market_under};
use super::preemption::{hang, live};

/// All ten map slots and both reduce slots are bob's, who bids 1; alice bids 1 and has no job.
fn cluster() -> Cluster {
    let mut cluster = market(&[("alice", "1000", "1"), ("bob", "1000", "1")]);
    cluster.add_tracker("h0", 10, 2);
    submit(&mut cluster, slow("bob", 40));
    live(&mut cluster, 900, hang);
    tick(&mut cluster);
    cluster
}

/// alice's job with so many seconds, its maps of twenty seconds each.
fn job(maps: u32, seconds: u64, max_rate: &str) -> JobSpec {
    let mut spec = slow("alice", maps);
    spec.deadline.as_mut().unwrap().due = Due::AfterMs(1_000 * seconds);
    JobSpec { order: Some(OrderTerms { max_rate: credits(max_rate), max_cost: None }), ..spec }
}

fn quote(cluster: &Cluster, spec: &JobSpec) -> Result<OrderQuote, MarketError> {
    let question = DeadlineQuestion {
        deadline: spec.deadline.clone().unwrap(),
        input: InputVolume::in_equal_splits(1 << 20, spec.maps),
        are_maps_known: true,
        reduces: spec.reduces,
        class: None,
    };
    let queue = QueueName::new("alice").unwrap();
    cluster.engine.quote_order(&queue, spec.order.unwrap().max_rate, &question, cluster.now)
}

#[test]
fn what_is_quoted_is_what_the_tick_buys() {
    for (seconds, maps) in [(65, 6), (90, 4), (45, 8), (500, 1)] {
        let mut cluster = cluster();
        let spec = job(16, seconds, "100");
        let quote = quote(&cluster, &spec).unwrap();
        assert_eq!((quote.state, quote.sufficient_rate), (OrderState::OnTime, None), "{quote:?}");
        assert_eq!((quote.needed, quote.bought), (PerKind::new(maps, 0), PerKind::new(maps, 0)));
        // 16 maps of 20 intervals each.
        assert_eq!(quote.cost.units(), 16 * 20 * quote.rate.units());
        assert_eq!(quote.deadline_ms, cluster.now.wall_ms + 1_000 * seconds as i64);
        assert!(quote.end_ms.is_some_and(|end_ms| end_ms <= quote.deadline_ms), "{quote:?}");
        submit(&mut cluster, spec);
        tick(&mut cluster);
        assert_eq!(rate(&cluster), quote.rate, "{seconds}");
        assert!(interval(&cluster).quota.map >= maps);
    }
}

/// What is said of an order from its submission on is what a dry run says.
#[test]
fn an_order_that_stands_is_as_it_was_quoted() {
    let at_risk = OrderState::AtRisk;
    for (maps, seconds, max_rate, max_cost, state, words) in [
        (16, 65, "100", None, OrderState::OnTime, "Order: rate at most 100.0."),
        (16, 65, "100", Some("20"), OrderState::Spent, "cost at most 20.0. But the job would cost "),
        // Two thousand slots over an interval, at 1 or more each.
        (100, 300, "100", None, at_risk, ", more than its queue can pay."),
        (16, 45, "1.5", None, at_risk, " would do."),
        // More maps at a time than the cluster has slots.
        (16, 22, "3", None, at_risk, " No rate would do: it is too late, or the cluster too small."),
    ] {
        let mut cluster = cluster();
        let mut spec = job(maps, seconds, max_rate);
        let max_cost = max_cost.map(credits);
        let quoted = quote(&cluster, &spec).unwrap().within(max_cost);
        assert_eq!((quoted.state, quoted.budget), (state, Some(credits("1000"))), "{quoted:?}");
        spec.order = Some(OrderTerms { max_rate: credits(max_rate), max_cost });
        let id = submit(&mut cluster, spec);
        let report = |cluster: &Cluster| cluster.engine.job_status(id).value.unwrap().scheduling_info.0;
        let placed = status(&mut cluster).unwrap();
        let foreseen = if placed.state == OrderState::New { OrderState::OnTime } else { placed.state };
        assert_eq!((foreseen, placed.sufficient_rate), (state, quoted.sufficient_rate), "{placed:?}");
        assert!(report(&cluster).contains(words), "{}", report(&cluster));
        tick(&mut cluster);
        let ticked = status(&mut cluster).unwrap();
        assert_eq!((ticked.state, ticked.cost), (state, placed.cost), "{ticked:?}");
        assert_eq!(ticked.cost.is_some(), quoted.is_beyond(max_cost), "{ticked:?}");
        assert!(report(&cluster).contains(words), "{}", report(&cluster));
    }
}

#[test]
fn a_rate_that_does_not_do_buys_less_and_the_one_that_does_is_named() {
    let cluster = cluster();
    let short = quote(&cluster, &job(16, 45, "1.5")).unwrap();
    assert_eq!((short.state, short.rate, short.needed.map), (OrderState::AtRisk, credits("1.5"), 8));
    assert!(short.bought.map < 8 && short.end_ms > Some(short.deadline_ms), "{short:?}");
    let sufficient = short.sufficient_rate.unwrap();
    let enough = quote(&cluster, &job(16, 45, &sufficient.to_string())).unwrap();
    assert_eq!((enough.state, enough.rate), (OrderState::OnTime, sufficient));
    // More maps at a time than the cluster has slots.
    let never = quote(&cluster, &job(40, 22, "3")).unwrap();
    assert_eq!((never.state, never.sufficient_rate), (OrderState::AtRisk, None));
}

#[test]
fn reduces_are_bought_after_the_maps_and_pay_while_they_copy() {
    let cluster = cluster();
    let mut spec = JobSpec { reduces: 2, ..job(8, 120, "100") };
    let deadline = spec.deadline.as_mut().unwrap();
    (deadline.reduce, deadline.copy_us_per_mb) = (Some(StatedCost::TaskMs(10_000)), Some(5_000_000));
    let quote = quote(&cluster, &spec).unwrap();
    let one_by_one = PerKind::new(2, 1);
    assert_eq!((quote.state, quote.needed, quote.bought), (OrderState::OnTime, one_by_one, one_by_one), "{quote:?}");
    // At her own rate 8 maps of 20 intervals and 2 reduces that copy for 5 and work for 10.
    assert_eq!((quote.rate, quote.cost), (credits("1"), credits("190")), "{quote:?}");
}

#[test]
fn what_could_not_be_ordered_is_not_quoted() {
    let cluster = cluster();
    let too_low = quote(&cluster, &job(16, 45, "0.5"));
    assert!(matches!(too_low, Err(MarketError::Order(OrderError::MaxRateBelowBid { .. }))), "{too_low:?}");
    let mut past = job(1, 1, "1");
    past.deadline.as_mut().unwrap().due = Due::AtMs(5);
    assert!(matches!(quote(&cluster, &past), Err(MarketError::Order(OrderError::Passed { .. }))));
    let idle = market_under(fifo(), &[("alice", "1000", "1")]);
    assert_eq!(quote(&idle, &job(16, 45, "5")), Err(MarketError::NotRuling));
}
