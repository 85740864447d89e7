//! What the owner of the small cluster said of a job's slots, and what queues were sold at the last ticks.

use crate::api::{
    Buyer, Explanation, Holders, LastRound, OrderState, OrderStatus, PendingReason, Preempted, PreemptedFor,
    QueueHolds, SufficientRate, TaskCounts,
};
use crate::market::Share;
use crate::model::{JobId, Kind, OrderClass, PerKind, PerPool};
use crate::views::{TickShare, TickShares};

use super::stage::{START_MS, credits};

/// A job of alice's: carol holds the rest, and has taken a slot from it.
pub(super) fn explanation(job: JobId) -> Explanation {
    let holders = |total, this_job| Holders {
        total,
        this_job,
        other_queues: 1,
        others_within_quota: 1,
        by_queue: vec![QueueHolds { queue: "carol".to_owned(), held: 1, quota: 3 }],
        ..Holders::default()
    };
    let counts = |total, running| TaskCounts { total, finished: 0, running, pending: total - running };
    let last = LastRound {
        at_ms: START_MS + 90,
        attempts: 1,
        for_slots: 2,
        for_queues: 1,
        by_queue: vec![("carol".to_owned(), 2)],
    };
    Explanation {
        job: job.to_string(),
        name: "count words".to_owned(),
        user: "alice".to_owned(),
        queue: "alice".to_owned(),
        state: "RUNNING".to_owned(),
        tasks: PerKind::new(counts(3, 1), counts(1, 0)),
        cost: Some(credits("41.7319")),
        order: Some(OrderStatus {
            job,
            deadline_ms: START_MS + 60_000,
            max_rate: credits("3.3719"),
            max_cost: None,
            state: OrderState::OnTime,
            sufficient_rate: None,
            cost: None,
        }),
        why: vec![
            PendingReason::SilentWorkers { silent: 1, workers: 2, longest_s: 7, lost_after_s: 600 },
            PendingReason::NotFunded { budget: credits("7319.625"), bid: credits("3.3719") },
            PendingReason::EarlierJobs { kind: Kind::Map, jobs: 2 },
        ],
        slots: PerKind::new(holders(4, 1), holders(2, 0)),
        market: Some(Buyer {
            budget: credits("7319.625"),
            bid: credits("3.3719"),
            rate: credits("3.3719"),
            price: credits("4.6"),
            share: "0.731943726".to_owned(),
            quota: PerKind::new(4, 1),
            held: PerKind::new(1, 0),
            class: PerKind::new(Some(OrderClass::UnderQuota), None),
            queues_before: PerKind::new(1, 0),
            moving: Some(SufficientRate {
                rate: credits("5.5"),
                price: credits("6.75"),
                share: "0.9".to_owned(),
                quota: PerKind::new(4, 2),
            }),
        }),
        preemption: Some(Preempted {
            interval_ms: 20_000,
            so_far: 1,
            at_risk: Some(0),
            for_queue: Some(PreemptedFor { short: 1, victims: 1 }),
            last: Some(last),
        }),
    }
}

/// Alice and carol bought slots at two ticks, the second as the first.
pub(super) fn ticks() -> Vec<TickShares> {
    let sold = |queue: &str, rate: &str, price: &str, maps| TickShare {
        queue: queue.parse().unwrap(),
        share: Share::new(credits(rate), credits(price)),
        quota: PerPool::new(maps, 1, 0),
    };
    let queues = [sold("alice", "3.3719", "4.606774917142", 3), sold("carol", "9.7319", "20", 1)];
    let tick = |tick: u64| TickShares {
        tick,
        time_ms: START_MS + 20_000 * i64::try_from(tick).unwrap(),
        interval_ms: 20_000,
        queues: queues.clone().into(),
    };
    vec![tick(2), tick(3)]
}
