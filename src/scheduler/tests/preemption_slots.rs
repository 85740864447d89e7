//! Rounds of preemption where attempts hold, and tasks take, more than one slot each.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::scheduler::*;

use super::kit::bare_nodes;

const NODES: usize = 3;

/// Tasks, slots of each.
type Waiting = (u32, u32);

/// Launch time, node, slots.
type Running = (u64, usize, u32);

/// The indexes of the victims, by group and attempt.
fn victims(
    under_quota: &[(u32, Vec<Waiting>)],
    incoming: &[u32],
    over_quota: &[(u32, Vec<Running>)],
) -> Vec<(usize, usize)> {
    let nodes = bare_nodes(NODES);
    let waiting = |(number, (tasks, slots_per_task)): (usize, &Waiting)| WaitingApp {
        app: AppId::new(number as u32),
        tasks: *tasks,
        slots_per_task: *slots_per_task,
        is_constrained: false,
    };
    let short = |(need, apps): &(u32, Vec<Waiting>)| UnderQuotaGroup {
        need: *need,
        waiting: apps.iter().enumerate().map(waiting).collect(),
    };
    let over = |(group, (excess, attempts)): (usize, &(u32, Vec<Running>))| {
        let attempt = |(number, (launch_mono_ms, node, slots)): (usize, &Running)| RunningAttempt {
            job_start_ms: group as i64,
            app: AppId::new(100),
            launch_mono_ms: *launch_mono_ms,
            node: nodes[*node],
            slots: *slots,
            attempt: (group, number),
        };
        OverQuotaGroup { excess: *excess, attempts: attempts.iter().enumerate().map(attempt).collect() }
    };
    let round = PreemptionRound {
        under_quota: under_quota.iter().map(short).collect(),
        incoming: nodes.iter().copied().zip(incoming.iter().copied()).collect(),
        over_quota: over_quota.iter().enumerate().map(over).collect(),
    };
    round.select_victims(|_, _| true)
}

#[test]
fn an_attempt_of_more_slots_than_the_excess_stays() {
    let waiting = [(4, vec![(4, 1)])];
    assert_eq!(victims(&waiting, &[0; NODES], &[(2, vec![(9, 0, 3), (8, 0, 2), (7, 0, 1)])]), [(0, 1)]);
    assert_eq!(victims(&waiting, &[0; NODES], &[(3, vec![(9, 0, 3), (8, 0, 2), (7, 0, 1)])]), [(0, 0)]);
}

#[test]
fn the_slots_of_one_attempt_serve_as_many_tasks() {
    assert_eq!(victims(&[(3, vec![(3, 1)])], &[0; NODES], &[(9, vec![(9, 0, 3), (8, 0, 3)])]), [(0, 0)]);
    assert_eq!(victims(&[(4, vec![(4, 1)])], &[0; NODES], &[(9, vec![(9, 0, 3), (8, 0, 3)])]), [(0, 0), (0, 1)]);
}

#[test]
fn a_task_of_two_slots_is_not_served_by_one() {
    let over = [(9, vec![(9, 0, 1), (8, 1, 2)])];
    assert_eq!(victims(&[(2, vec![(1, 2)])], &[1, 1, 1], &over), [(0, 1)]);
    assert_eq!(victims(&[(2, vec![(1, 2)])], &[0, 0, 2], &over), []);
}

fn groups<T: std::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<(u32, Vec<T>)>> {
    prop::collection::vec((0u32..9, prop::collection::vec(of, 0..6)), 0..4)
}

proptest! {
    #[test]
    fn no_group_falls_below_its_quota_and_each_victim_makes_room(
        waiting in groups((0u32..4, 1u32..4)),
        incoming in prop::collection::vec(0u32..4, NODES),
        running in groups((0u64..9, 0..NODES, 1u32..4)),
    ) {
        let chosen = victims(&waiting, &incoming, &running);
        prop_assert_eq!(chosen.iter().collect::<BTreeSet<_>>().len(), chosen.len());
        let slots = |(group, number): &(usize, usize)| running[*group].1[*number].2;
        for (group, (excess, _)) in running.iter().enumerate() {
            let lost: u32 = chosen.iter().filter(|victim| victim.0 == group).map(slots).sum();
            prop_assert!(lost <= *excess);
        }
        // Without the last victim something wanted would be missing.
        let want: u32 = waiting.iter().map(|(need, apps)| {
            (*need).min(apps.iter().map(|(tasks, slots)| tasks * slots).sum())
        }).sum();
        prop_assert!(chosen.len() as u32 <= want);
        let smallest = waiting.iter().flat_map(|(_, apps)| apps).filter(|app| app.0 > 0).map(|app| app.1).min();
        prop_assert!(chosen.iter().all(|victim| smallest.is_some_and(|smallest| slots(victim) >= smallest)));
    }
}
