//! Laws across switches: whichever policies take over, in the middle of anything, no attempt loses its slots, sums equal
//! a recount, the Capacity scheduler's queues and users hold their limits, and every job begins once and ends.

use proptest::prelude::*;

use crate::model::Kind;
use crate::scheduler::fair::allocation_file::AllocationFile;
use crate::scheduler::fair::options::FairOptions;
use crate::scheduler::{AppId, FifoOptions, PolicyOptions, Scheduler};

use super::capacity::{Laws, MOST_SLOTS, QUEUES, config};
use super::cluster::{Beat, Cluster};
use super::step::{Step, end_all, steps, take_step};

/// What jobs hold, and how far they are.
fn jobs_of(cluster: &Cluster) -> Vec<(AppId, [u32; 4], bool)> {
    let scheduler = &cluster.scheduler;
    let job = |id: AppId| {
        let (held, waiting) = (scheduler.app_usage(id), scheduler.app_waiting(id));
        (id, [held.map, held.reduce, waiting.map, waiting.reduce], scheduler.is_to_begin(id))
    };
    cluster.jobs.live().map(|(id, _)| job(id)).collect()
}

fn fair() -> impl Strategy<Value = PolicyOptions> {
    let pool = (0u32..4, 1u32..9, 1u32..4, any::<bool>());
    (prop::collection::vec(pool, QUEUES), any::<bool>()).prop_map(|(pools, is_compatible)| {
        let pool = |(number, (min, max, jobs, is_declared)): (usize, &(u32, u32, u32, bool))| match is_declared {
            true => format!(
                "<pool name=\"q{number}\"><minMaps>{min}</minMaps><maxMaps>{max}</maxMaps>\
                 <maxRunningJobs>{jobs}</maxRunningJobs></pool>"
            ),
            false => String::new(),
        };
        let pools: String = pools.iter().enumerate().map(pool).collect();
        let file = AllocationFile::parse(&format!("<allocations>{pools}</allocations>")).unwrap();
        let options = FairOptions { update_interval_ms: 0, is_compatible, ..FairOptions::default() };
        PolicyOptions::Fair { options, allocations: file.allocations.into() }
    })
}

fn policy() -> impl Strategy<Value = PolicyOptions> {
    prop_oneof![
        1 => any::<bool>().prop_map(|compatible| PolicyOptions::Fifo(FifoOptions { compatible, ..FifoOptions::default() })),
        1 => Just(PolicyOptions::Dynamic),
        3 => config().prop_map(|config| PolicyOptions::Capacity { config: config.into(), is_compatible: false }),
        3 => fair(),
    ]
}

fn run(runs: &[(PolicyOptions, Vec<Step>)]) {
    let mut cluster = Cluster::new(Scheduler::new(PolicyOptions::Dynamic));
    cluster.groups = (0..QUEUES).map(|number| cluster.scheduler.open_group(&format!("q{number}"))).collect();
    for (policy, steps) in runs {
        let before = jobs_of(&cluster);
        cluster.scheduler.replace_policy(policy.clone());
        assert_eq!(jobs_of(&cluster), before, "attempts, demand and jobs that wait to begin");
        cluster.check_sums();
        cluster.begin();
        let laws = match policy {
            PolicyOptions::Capacity { config, .. } => Some(Laws::new(config, &cluster.groups)),
            _ => None,
        };
        let mut check = |beat: &Beat<'_>| {
            if let Some(laws) = &laws {
                laws.check(beat);
            }
        };
        for step in steps {
            cluster.scheduler.tick(cluster.now);
            take_step(&mut cluster, step, &mut check);
            cluster.begin();
            if let Some(laws) = &laws {
                laws.check_reports(&cluster);
            }
            cluster.check_sums();
        }
    }
    end_all(&mut cluster, &mut |_| {});
    let totals = cluster.scheduler.totals();
    assert!(Kind::ALL.into_iter().all(|kind| totals.running[kind] == 0 && totals.waiting[kind] == 0), "{totals:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_job_begins_once_and_ends_whichever_policies_take_over(
        runs in prop::collection::vec((policy(), steps(QUEUES, MOST_SLOTS, 40)), 1..6)
    ) {
        run(&runs);
    }
}
