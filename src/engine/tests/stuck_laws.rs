//! Law: a job that no connected node can run takes no place in any policy's limit on running or initialised work.

use std::sync::Arc;

use proptest::prelude::*;

use crate::engine::PolicyConfig;
use crate::mapreduce::JobSpec;
use crate::model::{Decimal, JobId, RunState};
use crate::scheduler::capacity::{CapacityConfig, WrittenConfig, WrittenQueue};
use crate::scheduler::constraint::{DeadlineSpec, Due, KeySpread, StatedCost};

use super::cluster::{Cluster, Fate, spec};
use super::scheduler_report::fair;

/// A job that needs a stock tracker where there is none, or one with three maps.
#[derive(Clone, Copy, Debug)]
enum Submission {
    Stuck,
    Good,
}

fn submissions() -> impl Strategy<Value = Vec<Submission>> {
    let submission = prop_oneof![2 => Just(Submission::Stuck), 1 => Just(Submission::Good)];
    prop::collection::vec(submission, 1..9)
}

/// Policies that limit begun work to `most` jobs, or promise slots.
fn policies(most: u8) -> [PolicyConfig; 4] {
    let capacity = |most: i32, tasks: i32| {
        let mut queue = WrittenQueue::with_defaults("default", Some(Decimal::whole(100)));
        (queue.maximum_active_tasks, queue.maximum_active_tasks_per_user) = (tasks, tasks);
        let written = WrittenConfig { queues: vec![queue], maximum_system_jobs: most, ..WrittenConfig::default() };
        PolicyConfig::Capacity { config: Arc::new(CapacityConfig::new(&written).unwrap()), is_compatible: false }
    };
    [
        fair(&format!("<pool name='alice'><maxRunningJobs>{most}</maxRunningJobs></pool>")),
        capacity(most.into(), 1_000),
        capacity(1_000, 3 * i32::from(most)),
        PolicyConfig::Constraint(Default::default()),
    ]
}

/// Three maps of 100 s each within 300 s: one slot keeps it.
fn job(submission: Submission) -> JobSpec {
    let deadline = DeadlineSpec {
        due: Due::AfterMs(300_000),
        map: Some(StatedCost::TaskMs(100_000)),
        reduce: None,
        copy_us_per_mb: None,
        filter_millionths: Some(0),
        keys: KeySpread::Uniform,
    };
    let only_stock = match submission {
        Submission::Stuck => Some("it needs Java".to_owned()),
        Submission::Good => None,
    };
    JobSpec { only_stock, deadline: Some(deadline), ..spec("alice", "default", 3, 0) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn jobs_that_no_node_can_run_take_no_place(submissions in submissions(), most in 1..3_u8) {
        for policy in policies(most) {
            let name = format!("{policy:?}");
            let mut cluster = Cluster::new(policy);
            cluster.add_tracker("h0", 2, 0);
            cluster.trackers[0].name = "tracker_h0:streaming_only/127.0.0.1:50060".to_owned();
            cluster.beat(0, |_| Fate::Hang);
            let mut jobs: Vec<(JobId, Submission)> = Vec::new();
            for submission in &submissions {
                // What no node could run is looked at once a second.
                (0..6).for_each(|_| pass(&mut cluster));
                match cluster.submit(job(*submission)) {
                    Ok(id) => jobs.push((id, *submission)),
                    Err(refusal) => prop_assert!(matches!(submission, Submission::Stuck), "{}: {}", name, refusal),
                }
            }
            for _ in 0..400 {
                let is_over = |(id, submission): &(JobId, Submission)| {
                    matches!(submission, Submission::Stuck) || cluster.state(*id) == RunState::Succeeded
                };
                if jobs.iter().all(is_over) {
                    break;
                }
                pass(&mut cluster);
            }
            for (id, submission) in jobs {
                let wanted = match submission {
                    Submission::Stuck => RunState::Prep,
                    Submission::Good => RunState::Succeeded,
                };
                prop_assert_eq!(cluster.state(id), wanted, "{}: {} {:?}", name, id, submission);
            }
        }
    }
}

fn pass(cluster: &mut Cluster) {
    cluster.pass_ms(500);
    cluster.timer();
    cluster.beat(0, |_| Fate::Succeed);
}
