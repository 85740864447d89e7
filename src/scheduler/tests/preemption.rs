//! The victims of a round of preemption, and its laws over random rounds.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::model::TrackerId;
use crate::scheduler::*;

use super::kit::bare_nodes;

/// Group and number of an attempt.
type Name = (usize, u32);

fn under_quota(need: u32, app: u32, tasks: u32) -> UnderQuotaGroup {
    UnderQuotaGroup {
        need,
        waiting: vec![WaitingApp { app: AppId::new(app), tasks, slots_per_task: 1, is_constrained: false }],
    }
}

fn running(name: Name, job_start_ms: i64, launch_mono_ms: u64, node: TrackerId) -> RunningAttempt<Name> {
    RunningAttempt { job_start_ms, app: AppId::new(100), launch_mono_ms, node, slots: 1, attempt: name }
}

#[test]
fn the_latest_started_group_loses_first_and_its_youngest_attempts() {
    let n = bare_nodes(1)[0];
    let old = vec![running((0, 0), 10, 900, n), running((0, 1), 10, 901, n)];
    // Its first job is older than anything; its latest decides.
    let young = vec![running((1, 0), 5, 100, n), running((1, 1), 20, 50, n), running((1, 2), 5, 300, n)];
    let round = |need| PreemptionRound {
        under_quota: vec![under_quota(need, 1, 9)],
        incoming: Vec::new(),
        over_quota: vec![
            OverQuotaGroup { excess: 1, attempts: old.clone() },
            OverQuotaGroup { excess: 2, attempts: young.clone() },
        ],
    };
    assert_eq!(round(1).select_victims(|_, _| true), [(1, 2)]);
    assert_eq!(round(2).select_victims(|_, _| true), [(1, 2), (1, 0)]);
    assert_eq!(round(3).select_victims(|_, _| true), [(1, 2), (1, 0), (0, 1)]);
    assert_eq!(round(9).select_victims(|_, _| true).len(), 3, "never more than the excess");
}

#[test]
fn of_attempts_launched_at_once_the_last_goes_first() {
    let n = bare_nodes(1)[0];
    let attempts = (0..4).map(|number| running((0, number), 10, 7, n)).collect();
    let round = PreemptionRound {
        under_quota: vec![under_quota(2, 1, 2)],
        incoming: vec![],
        over_quota: vec![OverQuotaGroup { excess: 4, attempts }],
    };
    assert_eq!(round.select_victims(|_, _| true), [(0, 3), (0, 2)]);
}

#[test]
fn slots_that_come_free_anyway_are_counted_where_they_are_of_use() {
    let n = bare_nodes(3);
    let round = |incoming: Vec<(TrackerId, u32)>| PreemptionRound {
        under_quota: vec![under_quota(3, 1, 3)],
        incoming,
        over_quota: vec![OverQuotaGroup {
            excess: 9,
            attempts: (0..9).map(|k| running((0, k), 10, 7, n[0])).collect(),
        }],
    };
    let not_on_last = |_, node| node != n[2];
    assert_eq!(round(vec![(n[0], 1), (n[1], 1)]).select_victims(not_on_last).len(), 1);
    assert_eq!(round(vec![(n[1], 3)]).select_victims(not_on_last).len(), 0);
    assert_eq!(round(vec![(n[2], 3)]).select_victims(not_on_last).len(), 3, "no task may run there");
}

#[test]
fn no_victim_is_selected_where_it_helps_no_task() {
    let n = bare_nodes(2);
    let round = PreemptionRound {
        under_quota: vec![under_quota(2, 1, 2)],
        incoming: vec![],
        over_quota: vec![OverQuotaGroup {
            excess: 2,
            attempts: vec![running((0, 0), 1, 9, n[0]), running((0, 1), 1, 8, n[1])],
        }],
    };
    assert_eq!(round.clone().select_victims(|_, node| node == n[1]), [(0, 1)]);
    assert_eq!(round.select_victims(|_, _| false), []);
}

#[test]
fn who_may_not_run_everywhere_chooses_first() {
    let n = bare_nodes(2);
    let waiting = |is_constrained| WaitingApp {
        app: AppId::new(u32::from(is_constrained)),
        tasks: 1,
        slots_per_task: 1,
        is_constrained,
    };
    let round = PreemptionRound::<Name> {
        under_quota: vec![
            UnderQuotaGroup { need: 1, waiting: vec![waiting(false)] },
            UnderQuotaGroup { need: 1, waiting: vec![waiting(true)] },
        ],
        incoming: vec![(n[0], 1), (n[1], 1)],
        over_quota: vec![OverQuotaGroup {
            excess: 2,
            attempts: vec![running((0, 0), 1, 9, n[0]), running((0, 1), 1, 8, n[1])],
        }],
    };
    assert_eq!(round.select_victims(|app, node| app == AppId::new(0) || node == n[0]), []);
}

const NODES: usize = 3;

/// Waiting tasks of an app, and the nodes that it may use.
type Waiting = (u32, BTreeSet<usize>);

/// Job start, launch time and node of an attempt.
type Running = (i64, u64, usize);

#[derive(Clone, Debug)]
struct Scenario {
    /// Need, and what waits.
    under_quota: Vec<(u32, Vec<Waiting>)>,
    incoming: Vec<u32>,
    /// Excess, and what runs.
    over_quota: Vec<(u32, Vec<Running>)>,
}

fn scenario(all_nodes: bool) -> impl Strategy<Value = Scenario> {
    let usable = match all_nodes {
        true => Just((0..NODES).collect()).boxed(),
        false => prop::collection::btree_set(0..NODES, 0..=NODES).boxed(),
    };
    let apps = prop::collection::vec((0u32..4, usable), 0..4);
    let attempts = prop::collection::vec((0i64..6, 0u64..9, 0..NODES), 0..7);
    (
        prop::collection::vec((0u32..6, apps), 0..4),
        prop::collection::vec(0u32..4, NODES),
        prop::collection::vec((0u32..6, attempts), 0..4),
    )
        .prop_map(|(under_quota, incoming, over_quota)| Scenario { under_quota, incoming, over_quota })
}

impl Scenario {
    fn select_victims(&self) -> Vec<Name> {
        let nodes = bare_nodes(NODES);
        let mut usable = BTreeMap::new();
        let under_quota = self.under_quota.iter().map(|(need, apps)| {
            let waiting = apps.iter().map(|(tasks, on)| {
                let app = AppId::new(usable.len() as u32);
                usable.insert(app, on.clone());
                WaitingApp { app, tasks: *tasks, slots_per_task: 1, is_constrained: on.len() < NODES }
            });
            UnderQuotaGroup { need: *need, waiting: waiting.collect() }
        });
        let over_quota = self.over_quota.iter().enumerate().map(|(group, (excess, attempts))| {
            let attempts = attempts.iter().enumerate().map(|(number, (job_start_ms, launch_mono_ms, node))| {
                running((group, number as u32), *job_start_ms, *launch_mono_ms, nodes[*node])
            });
            OverQuotaGroup { excess: *excess, attempts: attempts.collect() }
        });
        let round = PreemptionRound {
            under_quota: under_quota.collect(),
            incoming: nodes.iter().copied().zip(self.incoming.iter().copied()).collect(),
            over_quota: over_quota.collect(),
        };
        round.select_victims(|app, node| usable[&app].iter().any(|on| nodes[*on] == node))
    }

    fn need(&self) -> u32 {
        self.under_quota.iter().map(|(need, apps)| (*need).min(apps.iter().map(|(tasks, _)| tasks).sum())).sum()
    }

    /// Whether each of these slots can serve a waiting task of its own, tried in all ways.
    fn serves_all(&self, slots: &[usize]) -> bool {
        let Some((node, rest)) = slots.split_first() else { return true };
        (0..self.under_quota.len()).any(|group| {
            (0..self.under_quota[group].1.len()).any(|app| {
                let (need, apps) = &self.under_quota[group];
                if *need == 0 || apps[app].0 == 0 || !apps[app].1.contains(node) {
                    return false;
                }
                let mut left = self.clone();
                left.under_quota[group].0 -= 1;
                left.under_quota[group].1[app].0 -= 1;
                left.serves_all(rest)
            })
        })
    }

    fn node_of(&self, victim: &Name) -> usize {
        self.over_quota[victim.0].1[victim.1 as usize].2
    }
}

proptest! {
    #[test]
    fn no_group_loses_more_than_its_excess_and_no_attempt_goes_twice(scenario in scenario(false)) {
        let victims = scenario.select_victims();
        for (group, (excess, _)) in scenario.over_quota.iter().enumerate() {
            prop_assert!(victims.iter().filter(|victim| victim.0 == group).count() <= *excess as usize);
        }
        prop_assert_eq!(victims.iter().collect::<BTreeSet<_>>().len(), victims.len());
    }

    #[test]
    fn every_victim_helps_a_waiting_task_of_its_own(scenario in scenario(false)) {
        let slots: Vec<usize> = scenario.select_victims().iter().map(|victim| scenario.node_of(victim)).collect();
        prop_assert!(scenario.serves_all(&slots));
    }

    #[test]
    fn exactly_the_missing_slots_are_taken(scenario in scenario(true)) {
        let excess: u32 = scenario.over_quota.iter().map(|(excess, attempts)| (*excess).min(attempts.len() as u32)).sum();
        let missing = scenario.need().saturating_sub(scenario.incoming.iter().sum());
        prop_assert_eq!(scenario.select_victims().len() as u32, missing.min(excess));
    }

    #[test]
    fn later_groups_lose_all_their_excess_before_earlier_ones_lose_any(scenario in scenario(true)) {
        let victims = scenario.select_victims();
        let latest = |group: usize| scenario.over_quota[group].1.iter().map(|(start_ms, ..)| *start_ms).max();
        for victim in &victims {
            for (group, (excess, attempts)) in scenario.over_quota.iter().enumerate() {
                if latest(group) > latest(victim.0) {
                    let lost = victims.iter().filter(|victim| victim.0 == group).count();
                    prop_assert_eq!(lost, (*excess as usize).min(attempts.len()));
                }
            }
        }
    }

    #[test]
    fn an_attempt_older_than_a_victim_of_its_group_stays(scenario in scenario(true)) {
        let victims = scenario.select_victims();
        for (group, (_, attempts)) in scenario.over_quota.iter().enumerate() {
            let is_victim = |number: usize| victims.contains(&(group, number as u32));
            let lost = (0..attempts.len()).filter(|number| is_victim(*number)).map(|number| attempts[number].1);
            let retained = (0..attempts.len()).filter(|number| !is_victim(*number)).map(|number| attempts[number].1);
            if let (Some(oldest_lost), Some(youngest_kept)) = (lost.min(), retained.max()) {
                prop_assert!(oldest_lost >= youngest_kept);
            }
        }
    }

    #[test]
    fn slots_being_released_are_used_before_a_kill(scenario in scenario(false), node in 0..NODES) {
        let before = scenario.select_victims().len();
        let mut more = scenario.clone();
        more.incoming[node] += 1;
        prop_assert!(more.select_victims().len() <= before);
    }
}
