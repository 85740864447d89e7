//! Laws of preemption, checked whenever the timer rings or a tracker calls in the random runs of [`super::market_laws`].

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::state::{Tracker, TrackerRecovery};
use crate::mapreduce::Job;
use crate::model::{AttemptId, AttemptState, Kind, PerKind, TrackerId};

use super::cluster::{Cluster, FakeTask, Fate};
use super::preemption::{attempts, is_preempted};

/// A queue's slots: bought, and held and kept.
#[derive(Clone, Copy)]
struct QueueUsage {
    quota: PerKind<u32>,
    kept: PerKind<u32>,
}

fn usage_by_queue(cluster: &Cluster) -> BTreeMap<String, QueueUsage> {
    let scheduler = &cluster.engine.cluster.scheduler;
    let of = |queue: &String| {
        let group = scheduler.group(queue).unwrap();
        let allocation = scheduler.allocation(group);
        let quota = allocation.paid().slots();
        QueueUsage { quota, kept: scheduler.retained(group) }
    };
    cluster.engine.jobs.live.by_queue().keys().map(|queue| (queue.clone(), of(queue))).collect()
}

fn marked(cluster: &Cluster) -> BTreeSet<AttemptId> {
    attempts(cluster).into_iter().filter(|(.., attempt)| is_preempted(attempt)).map(|(_, id, _)| id).collect()
}

/// Nodes whose tracker calls, with their slots that are free or come free.
fn coming(cluster: &Cluster, kind: Kind) -> BTreeMap<TrackerId, u32> {
    let engine = &cluster.engine;
    let longest_ms = engine.longest_silence_ms();
    let is_calling = |last_seen_mono_ms: u64| cluster.now.mono_ms - last_seen_mono_ms <= longest_ms;
    let is_back = |tracker: &&Tracker| matches!(tracker.recovery, TrackerRecovery::Complete);
    let trackers = engine.trackers.iter().filter(is_back);
    let calling = trackers.filter(|tracker| is_calling(tracker.last_seen_mono_ms));
    calling.map(|tracker| (tracker.id, engine.cluster.scheduler.incoming(tracker.id)[kind])).collect()
}

/// Fires the timer and checks the victims of a round.
pub(crate) fn ring(cluster: &mut Cluster) {
    let (before, marked_before) = (usage_by_queue(cluster), marked(cluster));
    let due = cluster.engine.inspect().is_preemption_due(cluster.now);
    cluster.timer();
    let chosen: Vec<AttemptId> = marked(cluster).difference(&marked_before).copied().collect();
    assert!(due || chosen.is_empty(), "between rounds nothing is taken");
    let after = usage_by_queue(cluster);
    for kind in Kind::ALL {
        let victims = chosen.iter().filter(|attempt| attempt.task.kind == kind).count() as u32;
        for (queue, QueueUsage { quota, kept }) in &after {
            // More than before where someone was spared.
            let lost = before[queue].kept[kind].saturating_sub(kept[kind]);
            assert!(lost == 0 || kept[kind] >= quota[kind], "{queue} is below its quota of {kind:?} slots");
        }
        check_amount(cluster, &after, kind, victims, due);
    }
    for (_, id, attempt) in attempts(cluster).iter().filter(|(_, id, _)| chosen.contains(id)) {
        assert!(matches!(attempt.state, AttemptState::Unassigned | AttemptState::Running), "{id}: {attempt:?}");
    }
}

/// No more was taken than waits, and no less than waits and may run everywhere, as far as anything was left to take.
fn check_amount(cluster: &Cluster, usage_by_queue: &BTreeMap<String, QueueUsage>, kind: Kind, victims: u32, due: bool) {
    let (jobs, live) = (&cluster.engine.jobs, &cluster.engine.jobs.live.by_queue());
    let jobs_of = |queue: &str| live[queue].iter().map(|id| jobs.get(*id).unwrap());
    let coming = coming(cluster, kind);
    let total_coming: u32 = coming.values().sum();
    let need = |counts: fn(&Job, Kind) -> bool| -> u32 {
        let of = |(queue, usage): (&String, &QueueUsage)| {
            let tasks: u32 = jobs_of(queue).filter(|job| counts(job, kind)).map(|job| job.runnable(kind)).sum();
            tasks.min(usage.quota[kind].saturating_sub(usage.kept[kind]))
        };
        usage_by_queue.iter().map(of).sum()
    };
    let may_be_set_up = usage_by_queue.keys().flat_map(|queue| jobs_of(queue));
    let setups = may_be_set_up.filter(|job| cluster.engine.cluster.housekeeping.setup.contains(&job.id)).count() as u32;
    assert!(victims <= need(|_, _| true) + setups, "each victim serves a task");
    let waits = |job: &Job| job.runnable(kind) > 0 || cluster.engine.cluster.housekeeping.setup.contains(&job.id);
    let waiting = || usage_by_queue.keys().flat_map(|queue| jobs_of(queue)).filter(|job| waits(job));
    if victims > 0 && !waiting().any(|job| job.is_constrained(kind)) {
        assert!(total_coming <= need(|_, _| true) + setups, "what came free by itself was taken again");
    }
    let excess = |queue: &str| usage_by_queue[queue].kept[kind] > usage_by_queue[queue].quota[kind];
    let over = usage_by_queue.keys().filter(|queue| excess(queue));
    let is_left = over
        .flat_map(|queue| jobs_of(queue))
        .any(|job| job.preemptible_attempts(kind).any(|(_, attempt)| coming.contains_key(&attempt.tracker)));
    let missing = need(|job, kind| !job.is_constrained(kind));
    assert!(!due || !is_left || missing <= total_coming, "{missing} {kind:?} slots are missing, {total_coming} come");
}

/// A tracker calls: each victim on it gets its kill, or was spared.
pub(crate) fn beat(cluster: &mut Cluster, index: usize, fate: impl Fn(&FakeTask) -> Fate) {
    cluster.beat(index, fate);
    let Some(tracker) = cluster.engine.trackers.named(cluster.trackers[index].name.as_str()) else { return };
    let waits = |(_, _, attempt): &(String, AttemptId, crate::mapreduce::Attempt)| {
        attempt.tracker == tracker.id && attempt.preemption.is_some()
    };
    assert!(!attempts(cluster).iter().any(waits), "one heartbeat is enough");
}
