//! The limit that keeps a waiting job from beginning.

use crate::scheduler::capacity::{JobLimits, JobLists, JobRank, JobStage, ListedJob};
use crate::scheduler::{AppId, BeginLimitUnit, Hold, LimitOwner};

const LIMITS: JobLimits = JobLimits {
    initialized: 4,
    initialized_per_user: 2,
    accepted: 40,
    accepted_per_user: 20,
    active_tasks: 20,
    active_tasks_per_user: 8,
};

/// A queue to which jobs of these users, with so many tasks, are added in turn; those that may begin do.
fn lists(jobs: &[(&str, u64)]) -> JobLists {
    let mut lists = JobLists::new(LIMITS);
    for (&(user, tasks), number) in jobs.iter().zip(1_u32..) {
        let rank = JobRank::new(false, 2, i64::from(number), number.into());
        let id = AppId::new(number);
        lists.add_job(ListedJob {
            id,
            user: user.into(),
            tasks,
            rank,
            stage: JobStage::Waiting,
            is_stuck: false,
            is_paused: false,
        });
    }
    lists.initialize_jobs();
    lists
}

fn hold(lists: &JobLists, number: u32) -> Option<Hold> {
    lists.hold_of(AppId::new(number), "q")
}

fn limit(of: LimitOwner, counts: BeginLimitUnit, limit: u64, used: u64) -> Option<Hold> {
    Some(Hold::BeginLimit { of, counts, limit, used })
}

#[test]
fn the_queues_limit_on_jobs_comes_first() {
    let lists = lists(&[("u1", 1), ("u1", 1), ("u2", 1), ("u2", 1), ("u2", 1), ("u3", 1)]);
    assert_eq!(hold(&lists, 1), None, "it has begun");
    let of_queue = || limit(LimitOwner::Group("q".to_owned()), BeginLimitUnit::Apps, 4, 4);
    assert_eq!((hold(&lists, 5), hold(&lists, 6)), (of_queue(), of_queue()));
}

#[test]
fn limits_of_the_user_follow() {
    let lists = lists(&[("u1", 1), ("u1", 1), ("u1", 1), ("u2", 7), ("u2", 2)]);
    assert_eq!(hold(&lists, 3), limit(LimitOwner::User, BeginLimitUnit::Apps, 2, 2));
    assert_eq!(hold(&lists, 5), limit(LimitOwner::User, BeginLimitUnit::Tasks, 8, 7));
}

#[test]
fn tasks_of_the_queue_are_limited_and_a_later_job_waits_for_an_earlier_one() {
    let lists = lists(&[("u1", 8), ("u2", 8), ("u3", 7), ("u4", 1)]);
    assert_eq!(hold(&lists, 3), limit(LimitOwner::Group("q".to_owned()), BeginLimitUnit::Tasks, 20, 16));
    assert_eq!(hold(&lists, 4), Some(Hold::BeginsLater));
}
