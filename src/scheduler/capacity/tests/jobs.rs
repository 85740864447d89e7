//! Jobs that are refused, wait, begin and end.

use std::sync::Arc;

use crate::scheduler::AppId;
use crate::scheduler::capacity::{JobLimits, JobLists, JobRank, JobStage, ListedJob, StageCounts};

use super::*;

const ROOMY: JobLimits = JobLimits {
    initialized: 100,
    initialized_per_user: 100,
    accepted: 1000,
    accepted_per_user: 1000,
    active_tasks: 1000,
    active_tasks_per_user: 1000,
};

fn limits(
    maximum_system_jobs: i32,
    capacity: &str,
    user_limit: i32,
    accept_factor: i32,
    tasks_per_user: i32,
) -> JobLimits {
    let rest = Decimal::whole(100) + decimal(&format!("-{capacity}"));
    let mut config = written(&[("default", capacity)]);
    if rest > Decimal::ZERO {
        config.queues.push(WrittenQueue::with_defaults("q2", Some(rest)));
    }
    config.maximum_system_jobs = maximum_system_jobs;
    config.queues[0].minimum_user_limit_percent = user_limit;
    config.queues[0].init_accept_jobs_factor = accept_factor;
    config.queues[0].maximum_active_tasks_per_user = tasks_per_user;
    *CapacityConfig::new(&config).unwrap().queues()[0].job_limits()
}

fn job(number: u32, user: &str, tasks: u64) -> ListedJob {
    let rank = JobRank::new(true, 2, 0, u64::from(number));
    ListedJob {
        id: AppId::new(number),
        user: Arc::from(user),
        tasks,
        rank,
        stage: JobStage::Waiting,
        is_stuck: false,
        is_paused: false,
    }
}

fn submit(jobs: &mut JobLists, number: u32, user: &str, tasks: u64) -> Result<(), String> {
    let id = format!("job_1_{number:04}");
    jobs.check_job(&id, "default", user, tasks).map_err(|refusal| refusal.to_string())?;
    jobs.add_job(job(number, user, tasks));
    Ok(())
}

fn begin(jobs: &mut JobLists) -> Vec<u32> {
    jobs.initialize_jobs().into_iter().map(AppId::get).collect()
}

fn run(jobs: &mut JobLists, numbers: impl IntoIterator<Item = u32>) {
    numbers.into_iter().for_each(|number| jobs.set_stage(AppId::new(number), JobStage::Running));
}

fn end(jobs: &mut JobLists, number: u32) {
    jobs.remove_job(AppId::new(number));
}

fn counts(jobs: &JobLists) -> [u64; 3] {
    let StageCounts { waiting, initializing, running } = jobs.counts();
    [waiting, initializing, running]
}

#[test]
fn a_job_of_too_many_tasks_is_refused() {
    let mut jobs = JobLists::new(JobLimits { active_tasks_per_user: 4, ..ROOMY });
    assert_eq!(submit(&mut jobs, 1, "u1", 4), Ok(()));
    assert_eq!(
        submit(&mut jobs, 2, "u1", 5).unwrap_err(),
        "Job 'job_1_0002' from user 'u1' rejected since it has 5 tasks which exceeds the limit of 4 tasks per-user \
         which can be initialized for queue 'default'"
    );
}

#[test]
fn a_full_queue_refuses() {
    let mut jobs = JobLists::new(JobLimits { initialized: 2, accepted: 3, ..ROOMY });
    (1..=3).for_each(|number| submit(&mut jobs, number, "u1", 1).unwrap());
    begin(&mut jobs);
    run(&mut jobs, [1]);
    assert_eq!(
        submit(&mut jobs, 4, "u2", 1).unwrap_err(),
        "Job 'job_1_0004' from user 'u2' rejected since queue 'default' already has 1 waiting jobs, 1 initializing \
         jobs and 1 running jobs - Exceeds limit of 3 jobs to accept"
    );
}

#[test]
fn a_user_with_too_many_jobs_is_refused() {
    let mut jobs = JobLists::new(JobLimits { accepted_per_user: 2, initialized: 1, ..ROOMY });
    (1..=2).for_each(|number| submit(&mut jobs, number, "u1", 1).unwrap());
    begin(&mut jobs);
    assert_eq!(
        submit(&mut jobs, 3, "u1", 1).unwrap_err(),
        "Job 'job_1_0003' rejected since user 'u1' already has 1 waiting jobs, 1 initializing jobs and 0 running jobs \
         -  Exceeds limit of 2 jobs to accept in queue 'default' per user"
    );
    assert_eq!(submit(&mut jobs, 3, "u2", 1), Ok(()));
}

#[test]
fn a_queue_without_capacity_accepts_no_job() {
    let jobs = JobLists::new(limits(5000, "0", 100, 10, 100_000));
    let refusal = jobs.check_job("job_1_0001", "q", "u1", 1).unwrap_err().to_string();
    assert!(refusal.ends_with(
        "already has 0 waiting jobs, 0 initializing jobs and 0 running jobs - Exceeds limit of 0 jobs to accept"
    ));
}

#[test]
fn a_full_queue_begins_none_and_one_that_ends_makes_room() {
    let mut jobs = JobLists::new(JobLimits { initialized: 2, ..ROOMY });
    (1..=4).for_each(|number| submit(&mut jobs, number, "u1", 1).unwrap());
    assert_eq!(begin(&mut jobs), [1, 2]);
    run(&mut jobs, [1]);
    assert_eq!(begin(&mut jobs), [0; 0]);
    end(&mut jobs, 1);
    assert_eq!(begin(&mut jobs), [3]);
    assert_eq!(counts(&jobs), [1, 2, 0]);
}

/// Jobs that no node could run take no place of those that have begun, nor their tasks; accepted jobs count them still.
#[test]
fn jobs_that_no_node_could_run_take_no_place() {
    let limits = JobLimits { initialized: 2, initialized_per_user: 1, active_tasks: 6, accepted: 5, ..ROOMY };
    let mut jobs = JobLists::new(limits);
    for (number, user) in [(1, "u1"), (2, "u1"), (3, "u2"), (4, "u3")] {
        submit(&mut jobs, number, user, 3).unwrap();
    }
    assert_eq!(begin(&mut jobs), [1, 3]);
    jobs.set_stuck(AppId::new(1), true, false);
    run(&mut jobs, [1]);
    assert_eq!(begin(&mut jobs), [2], "the user's limit and that of the queue");
    assert_eq!(begin(&mut jobs), [0; 0]);
    jobs.set_stuck(AppId::new(3), true, false);
    assert_eq!(begin(&mut jobs), [4], "nor do its tasks count");
    end(&mut jobs, 3);
    jobs.set_stuck(AppId::new(1), false, false);
    submit(&mut jobs, 5, "u4", 1).unwrap();
    submit(&mut jobs, 6, "u4", 1).unwrap();
    assert_eq!((begin(&mut jobs), counts(&jobs)), (vec![], [2, 2, 1]));
    assert!(submit(&mut jobs, 7, "u5", 1).is_err(), "accepted jobs are counted");
    let mut jobs = JobLists::new(JobLimits { active_tasks: 10, ..ROOMY });
    for (number, tasks) in [(1, 8), (2, 5), (3, 2)] {
        submit(&mut jobs, number, "u1", tasks).unwrap();
    }
    assert_eq!(begin(&mut jobs), [1]);
    jobs.set_stuck(AppId::new(2), true, false);
    assert_eq!(begin(&mut jobs), [2, 3], "nor is a waiting one too large for the queue");
}

#[test]
fn a_paused_job_takes_no_place_holds_up_no_other_and_begins_once_it_is_resumed() {
    let mut jobs = JobLists::new(JobLimits { initialized: 1, active_tasks: 10, ..ROOMY });
    for (number, tasks) in [(1, 20), (2, 3), (3, 3), (4, 3)] {
        submit(&mut jobs, number, "u1", tasks).unwrap();
    }
    jobs.set_stuck(AppId::new(1), false, true);
    assert_eq!(begin(&mut jobs), [2], "nor is the first too large for the queue");
    jobs.set_stuck(AppId::new(2), false, true);
    assert_eq!(begin(&mut jobs), [3]);
    jobs.set_stuck(AppId::new(2), false, false);
    end(&mut jobs, 3);
    assert_eq!(begin(&mut jobs), [0; 0], "the second has its place again");
    end(&mut jobs, 2);
    jobs.set_tasks(AppId::new(1), 1);
    jobs.set_stuck(AppId::new(1), false, false);
    assert_eq!(begin(&mut jobs), [1]);
}

#[test]
fn a_job_too_large_for_the_queue_now_holds_up_those_behind_it() {
    let mut jobs = JobLists::new(JobLimits { active_tasks: 10, ..ROOMY });
    for (number, tasks) in [(1, 6), (2, 5), (3, 1)] {
        submit(&mut jobs, number, "u1", tasks).unwrap();
    }
    assert_eq!(begin(&mut jobs), [1]);
    end(&mut jobs, 1);
    assert_eq!(begin(&mut jobs), [2, 3]);
}

#[test]
fn a_job_too_large_for_the_queue_holds_up_other_users_even_if_its_own_user_is_over_a_limit() {
    let mut jobs = JobLists::new(JobLimits { active_tasks: 10, initialized_per_user: 1, ..ROOMY });
    for (number, user, tasks) in [(1, "u1", 5), (2, "u1", 6), (3, "u2", 1)] {
        submit(&mut jobs, number, user, tasks).unwrap();
    }
    assert_eq!(begin(&mut jobs), [1]);
    end(&mut jobs, 1);
    assert_eq!(begin(&mut jobs), [2, 3]);
}

#[test]
fn within_a_round_a_job_that_was_passed_does_not_stop_the_rest() {
    let mut jobs = JobLists::new(JobLimits { active_tasks: 10, initialized_per_user: 1, ..ROOMY });
    for (number, user, tasks) in [(1, "u1", 1), (2, "u1", 6), (3, "u2", 4), (4, "u3", 1)] {
        submit(&mut jobs, number, user, tasks).unwrap();
    }
    // The second has room when it is passed and none after the third.
    assert_eq!(begin(&mut jobs), [1, 3, 4]);
}

#[test]
fn a_user_over_a_limit_is_passed_and_keeps_the_order_of_its_jobs() {
    let mut jobs = JobLists::new(JobLimits { active_tasks_per_user: 4, ..ROOMY });
    for (number, user, tasks) in [(1, "u1", 3), (2, "u1", 2), (3, "u1", 1), (4, "u2", 4)] {
        submit(&mut jobs, number, user, tasks).unwrap();
    }
    assert_eq!(begin(&mut jobs), [1, 4]);
    end(&mut jobs, 1);
    assert_eq!(begin(&mut jobs), [2, 3]);
}

#[test]
fn active_tasks_are_given_back_only_at_the_end() {
    let mut jobs = JobLists::new(ROOMY);
    (1..=3).for_each(|number| submit(&mut jobs, number, "u1", 2).unwrap());
    begin(&mut jobs);
    run(&mut jobs, [1]);
    assert_eq!((jobs.active_tasks(), jobs.user_active_tasks("u1")), (6, 6));
    // One ends running, one while it initialises.
    end(&mut jobs, 1);
    end(&mut jobs, 2);
    assert_eq!((jobs.active_tasks(), jobs.user_active_tasks("u1")), (2, 2));
    end(&mut jobs, 3);
    assert_eq!((jobs.active_tasks(), jobs.users()), (0, 0));
}

#[test]
fn a_job_that_moves_in_the_order_only_changes_its_place() {
    let mut jobs = JobLists::new(JobLimits { initialized: 1, accepted: 3, ..ROOMY });
    (1..=3).for_each(|number| submit(&mut jobs, number, "u1", 2).unwrap());
    begin(&mut jobs);
    // The original would refuse the waiting one again, and lose the initialising one.
    jobs.set_limits(JobLimits { initialized: 1, accepted: 1, ..ROOMY });
    jobs.set_rank(AppId::new(3), JobRank::new(true, 0, 0, 3));
    jobs.set_rank(AppId::new(1), JobRank::new(true, 4, 0, 1));
    assert_eq!((counts(&jobs), jobs.active_tasks()), ([2, 1, 0], 2));
    end(&mut jobs, 1);
    assert_eq!((jobs.active_tasks(), begin(&mut jobs)), (0, vec![3]));
}

#[test]
fn lifted_limits_let_jobs_begin() {
    let mut jobs = JobLists::new(JobLimits { initialized_per_user: 1, ..ROOMY });
    (1..=3).for_each(|number| submit(&mut jobs, number, "u1", 1).unwrap());
    assert_eq!(begin(&mut jobs), [1]);
    jobs.set_limits(ROOMY);
    assert_eq!(begin(&mut jobs), [2, 3]);
}

#[test]
fn a_negative_limit_on_tasks_begins_none() {
    let mut jobs = JobLists::new(JobLimits { active_tasks: -1, ..ROOMY });
    jobs.add_job(job(1, "u1", 0));
    assert_eq!(begin(&mut jobs), [0; 0]);
}

#[test]
fn row_20_one_round_begins_two_jobs_of_each_user() {
    let mut jobs = JobLists::new(limits(6, "100", 100, 10, 4));
    let users = ["u1", "u2", "u3"];
    for number in 1..=12 {
        submit(&mut jobs, number, users[(number as usize - 1) / 4], 2).unwrap();
    }
    assert_eq!(begin(&mut jobs), [1, 2, 5, 6, 9, 10]);
    submit(&mut jobs, 13, "u4", 2).unwrap();
    assert_eq!((begin(&mut jobs), counts(&jobs)), (vec![], [7, 6, 0]));
    // Running ones count until they end.
    run(&mut jobs, [1, 2, 5, 6, 9, 10]);
    assert_eq!((begin(&mut jobs), counts(&jobs)), (vec![], [7, 0, 6]));
    end(&mut jobs, 1);
    end(&mut jobs, 2);
    assert_eq!(begin(&mut jobs), [3, 4]);
}

#[test]
fn row_21_half_of_twelve_jobs_are_accepted_and_half_of_these_of_one_user() {
    let mut jobs = JobLists::new(limits(12, "50", 50, 1, 100_000));
    for number in 1..=6 {
        submit(&mut jobs, number, ["u1", "u2", "u3"][(number as usize - 1) / 2], 2).unwrap();
    }
    assert_eq!(begin(&mut jobs), [1, 2, 3, 4, 5, 6]);
    assert!(submit(&mut jobs, 7, "u1", 2).unwrap_err().contains("Exceeds limit of 6 jobs to accept"));
    end(&mut jobs, 3);
    end(&mut jobs, 5);
    assert_eq!(submit(&mut jobs, 7, "u1", 2), Ok(()));
    let refusal = submit(&mut jobs, 8, "u1", 2).unwrap_err();
    assert!(refusal.ends_with("Exceeds limit of 3 jobs to accept in queue 'default' per user"), "{refusal}");
}

#[test]
fn row_22_a_raised_job_begins_next() {
    let mut jobs = JobLists::new(limits(6, "100", 100, 10, 4));
    for number in 1..=6 {
        submit(&mut jobs, number, ["u1", "u2", "u3"][(number as usize - 1) / 2], 2).unwrap();
    }
    let begun = begin(&mut jobs);
    run(&mut jobs, begun);
    submit(&mut jobs, 7, "u4", 2).unwrap();
    submit(&mut jobs, 8, "u4", 2).unwrap();
    jobs.set_rank(AppId::new(8), JobRank::new(true, 0, 0, 8));
    end(&mut jobs, 1);
    assert_eq!((begin(&mut jobs), counts(&jobs)), (vec![8], [1, 1, 5]));
}

#[test]
fn row_25_a_job_that_fails_to_initialise_leaves_every_list() {
    let mut jobs = JobLists::new(JobLimits { initialized: 1, ..ROOMY });
    (1..=2).for_each(|number| submit(&mut jobs, number, "u1", 1).unwrap());
    assert_eq!(begin(&mut jobs), [1]);
    end(&mut jobs, 1);
    assert!(jobs.job(AppId::new(1)).is_none());
    assert_eq!((begin(&mut jobs), counts(&jobs)), (vec![2], [0, 1, 0]));
}

#[test]
fn row_32_the_order_follows_a_change_of_priority_or_start_time() {
    let mut jobs = JobLists::new(ROOMY);
    (1..=2).for_each(|number| submit(&mut jobs, number, "u1", 1).unwrap());
    let order = |jobs: &JobLists| jobs.listed().map(AppId::get).collect::<Vec<_>>();
    jobs.set_rank(AppId::new(2), JobRank::new(true, 1, 0, 2));
    assert_eq!(order(&jobs), [2, 1]);
    begin(&mut jobs);
    run(&mut jobs, [1, 2]);
    jobs.set_rank(AppId::new(1), JobRank::new(true, 1, -1, 1));
    assert_eq!(order(&jobs), [1, 2]);
    end(&mut jobs, 1);
    assert_eq!(order(&jobs), [2]);
}

#[test]
fn row_33_all_jobs_of_a_queue_are_listed() {
    let mut jobs = JobLists::new(JobLimits { initialized: 3, ..ROOMY });
    (1..=4).for_each(|number| submit(&mut jobs, number, "u1", 1).unwrap());
    begin(&mut jobs);
    run(&mut jobs, [1]);
    // Initialising, running, waiting.
    assert_eq!(jobs.listed().map(AppId::get).collect::<Vec<_>>(), [2, 3, 1, 4]);
}

#[test]
fn without_priorities_the_start_decides_and_then_the_id() {
    let rank = |priority, start_ms, order| JobRank::new(false, priority, start_ms, order);
    assert!(rank(4, 1, 9) < rank(0, 2, 1));
    assert!(rank(4, 1, 1) < rank(0, 1, 2));
}

#[test]
fn with_priorities_they_decide_first() {
    let rank = |priority, start_ms, order| JobRank::new(true, priority, start_ms, order);
    assert!(rank(0, 9, 9) < rank(1, 1, 1));
    assert!(rank(2, 1, 9) < rank(2, 2, 1));
    assert!(rank(2, 1, 1) < rank(2, 1, 2));
}
