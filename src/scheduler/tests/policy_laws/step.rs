//! What may happen to a cluster, at random, and the end of all its jobs.

use std::num::NonZeroU32;

use proptest::prelude::*;
use proptest::sample::Index;

use crate::model::{Kind, PerKind, TrackerId};
use crate::scheduler::AppId;
use crate::scheduler::tests::laws::pick;

use super::cluster::{Beat, Cluster, Jobs, Stage, State, Submission};

const HOSTS: usize = 6;
const USERS: usize = 3;
/// No job has its input there, and none has failed there.
const FRESH_HOST: usize = 99;

#[derive(Clone, Debug)]
pub(super) enum Step {
    Submit(Submission),
    SetUp(Index),
    Beat { node: Index, after_ms: u64 },
    End { task: Index, is_done: bool },
    Priority(Index, u8),
    Remove(Index),
    Node { host: usize, slots: PerKind<u32> },
    Slots(Index, PerKind<u32>),
    RemoveNode(Index),
    Tick,
}

/// Steps over so many groups; tasks of some jobs take up to `most_slots`.
pub(super) fn steps(groups: usize, most_slots: u32, most: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(groups, most_slots), 1..most)
}

fn step(groups: usize, most_slots: u32) -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    let node_slots = || (0u32..5, 0u32..4).prop_map(|(maps, reduces)| PerKind::new(maps, reduces));
    prop_oneof![
        6 => submission(groups, most_slots).prop_map(Step::Submit),
        6 => index().prop_map(Step::SetUp),
        16 => (index(), 0u64..4_000).prop_map(|(node, after_ms)| Step::Beat { node, after_ms }),
        8 => (index(), prop::bool::weighted(0.9)).prop_map(|(task, is_done)| Step::End { task, is_done }),
        1 => (index(), 0u8..5).prop_map(|(job, priority)| Step::Priority(job, priority)),
        1 => index().prop_map(Step::Remove),
        3 => (0..HOSTS, node_slots()).prop_map(|(host, slots)| Step::Node { host, slots }),
        1 => (index(), node_slots()).prop_map(|(node, slots)| Step::Slots(node, slots)),
        1 => index().prop_map(Step::RemoveNode),
        3 => Just(Step::Tick),
    ]
}

fn submission(groups: usize, most_slots: u32) -> impl Strategy<Value = Submission> {
    let slots =
        move || prop_oneof![3 => Just(1), 1 => 1..=most_slots].prop_map(|slots| NonZeroU32::new(slots).unwrap());
    let map = || (prop::collection::vec(0..HOSTS, 0..3), prop::option::weighted(0.1, 0..HOSTS));
    let tasks = (prop::collection::vec(map(), 0..5), 0u32..4);
    (0..groups, 0..USERS, 0u8..5, slots(), slots(), tasks).prop_map(|(group, user, priority, map, reduce, tasks)| {
        let (maps, reduces) = tasks;
        let reduces = if maps.is_empty() { reduces.max(1) } else { reduces };
        Submission { group, user, priority, slots_per_task: PerKind::new(map, reduce), maps, reduces }
    })
}

fn node_of(jobs: &Jobs, index: &Index) -> Option<TrackerId> {
    pick(jobs.nodes.keys().copied(), index)
}

fn job_of(jobs: &Jobs, index: &Index, keep: impl Fn(Stage) -> bool) -> Option<AppId> {
    pick(jobs.live().filter(|(_, job)| keep(job.stage)).map(|(id, _)| id), index)
}

fn running(jobs: &Jobs) -> Vec<usize> {
    jobs.tasks_in(|state| matches!(state, State::Running(_)))
}

pub(super) fn take_step(cluster: &mut Cluster, step: &Step, check: &mut impl FnMut(&Beat<'_>)) -> Option<()> {
    match step {
        Step::Submit(submission) => drop(cluster.submit(submission)),
        Step::SetUp(job) => {
            let job = job_of(&cluster.jobs, job, |stage| stage == Stage::Begun)?;
            cluster.set_up(job);
        }
        Step::Beat { node, after_ms } => {
            let node = node_of(&cluster.jobs, node)?;
            cluster.beat(node, *after_ms, |beat| check(beat));
            // The second one finds nothing changed but what the first one did.
            cluster.beat(node, 0, |beat| check(beat));
        }
        Step::End { task, is_done } => {
            let task = pick(running(&cluster.jobs), task)?;
            cluster.end(task, *is_done);
        }
        Step::Priority(job, priority) => {
            let job = job_of(&cluster.jobs, job, |_| true)?;
            cluster.scheduler.set_priority(job, *priority);
            cluster.jobs.jobs.get_mut(&job)?.spec.priority = *priority;
        }
        Step::Remove(job) => {
            let job = job_of(&cluster.jobs, job, |_| true)?;
            cluster.remove(job);
        }
        Step::Node { host, slots } => drop(cluster.node(*host, *slots)),
        Step::Slots(node, slots) => {
            let node = node_of(&cluster.jobs, node)?;
            cluster.scheduler.set_slots(node, *slots);
            cluster.jobs.nodes.get_mut(&node)?.slots = *slots;
        }
        Step::RemoveNode(node) => {
            let node = node_of(&cluster.jobs, node)?;
            cluster.remove_node(node);
        }
        Step::Tick => cluster.scheduler.tick(cluster.now),
    }
    Some(())
}

/// A large node joins, and every job that was submitted begins and ends.
pub(super) fn end_all(cluster: &mut Cluster, check: &mut impl FnMut(&Beat<'_>)) {
    cluster.node(FRESH_HOST, PerKind::new(200, 200));
    let most_rounds = 40 + 4 * cluster.jobs.tasks.len();
    for _ in 0..most_rounds {
        cluster.begin();
        let begun: Vec<AppId> =
            cluster.jobs.live().filter(|(_, job)| job.stage == Stage::Begun).map(|(id, _)| id).collect();
        for id in begun {
            cluster.set_up(id);
        }
        running(&cluster.jobs).into_iter().for_each(|task| cluster.end(task, true));
        cluster.check_sums();
        if cluster.jobs.live().next().is_none() {
            return;
        }
        cluster.scheduler.tick(cluster.now);
        for node in cluster.jobs.nodes.keys().copied().collect::<Vec<_>>() {
            cluster.beat(node, 1_000, |beat| check(beat));
        }
    }
    let left: Vec<_> = cluster.jobs.live().map(|(id, job)| (id, job.stage)).collect();
    panic!("jobs neither begin nor end: {left:?}");
}

pub(super) fn kinds_with_free_slots(jobs: &Jobs, node: TrackerId) -> impl Iterator<Item = Kind> {
    let free = jobs.free(node);
    Kind::ALL.into_iter().filter(move |&kind| free[kind] > 0)
}
