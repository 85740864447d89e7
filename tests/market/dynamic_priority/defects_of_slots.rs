//! Section 11, what the original gets wrong with slots, charges and preemption: each row, and what happens here.

use crate::dynamic_priority::market::{Market, Terms, Worker, with_budgets, with_market};

use jobtracker::model::{AttemptId, Kind, PerKind, RunState};
use jobtracker::wire::Action;

fn quota(market: &Market, queue: &str) -> PerKind<u32> {
    market.rig.owner.with_engine(|engine| {
        let account = engine.market().unwrap().account(queue).unwrap();
        account.interval().map_or(PerKind::default(), |interval| interval.quota.slots())
    })
}

/// What a queue runs, maps and reduces, by the books of the tracker.
async fn running(market: &Market, worker: &Worker, queue: &str) -> (usize, usize) {
    let mut sum = (0, 0);
    let jobs: Vec<_> = {
        let overview =
            market.rig.owner.with_engine(|engine| engine.build_snapshot(market.rig.owner.clock().now()).value);
        overview.jobs.into_iter().filter(|job| job.queue == queue).map(|job| job.id).collect()
    };
    for (job, (maps, reduces)) in worker.running() {
        if jobs.contains(&job) {
            sum = (sum.0 + maps, sum.1 + reduces);
        }
    }
    sum
}

/// A bidder without money had a share of a multiple of the cluster whenever nothing of it ran.
#[test]
fn defect_10_who_cannot_pay_has_no_share_and_shares_sum_to_one_at_most() {
    with_budgets("alice 100 0.5\nbob 0 100\n", async |market| {
        let mut worker = market.worker(4, 0).await;
        market.submit("alice", 8, 0).await;
        market.submit("bob", 8, 0).await;
        for _ in 0..3 {
            market.tick().await;
            worker.fill().await;
            assert_eq!(market.price().await, "0.5");
            assert_eq!(market.info("bob").await[1..3], ["0.0", "0.000000000"]);
            assert_eq!(market.info("alice").await[2], "1.000000000");
            assert_eq!((quota(&market, "alice").map, quota(&market, "bob").map), (4, 0));
        }
        assert_eq!(running(&market, &worker, "bob").await, (0, 0));
    });
}

/// A refused job got an id, was initialised, killed without a word and counted as a success.
#[test]
fn defect_26_a_job_is_refused_at_its_submission_with_the_reason() {
    with_budgets("alice 100 1\n", async |market| {
        let mut worker = market.worker(2, 0).await;
        let queue = [("mapreduce.job.queue.name".to_owned(), "alice".to_owned())];
        let (class, text) = market.submit_with("alice", &queue, 2).await.unwrap_err();
        assert_eq!(class, "org.apache.hadoop.security.AccessControlException");
        assert!(text.contains("ACCESS DENIED: missing signature"), "{text}");
        worker.fill().await;
        market.tick().await;
        let metrics = market.request("GET", "/metrics", "").await.body;
        assert!(metrics.contains("jobtracker_jobs_accepted_total 0"), "{metrics}");
        assert_eq!(market.info("alice").await[4], "0");
    });
}

/// Charging went on with the last numbers that a tracker had brought. Here what is charged is what is held by the job tables,
/// whether its tracker reports or not, until the tracker is lost.
#[test]
fn defect_27_what_is_charged_is_what_the_job_tables_hold() {
    with_budgets("alice 100 1\n", async |market| {
        let mut worker = market.worker(4, 0).await;
        market.submit("alice", 4, 0).await;
        market.tick().await;
        worker.fill().await;
        market.tick().await;
        assert_eq!(market.budget_but_for_the_wait("alice").await, "96.0");
        // No tracker reports any more: what it was given is held and paid.
        for left in ["92.0", "88.0", "84.0"] {
            market.tick().await;
            assert_eq!(market.budget_but_for_the_wait("alice").await, left);
        }
        // After ten minutes it is lost, at the latest when that is looked for next, and nobody pays for what ran there.
        for _ in 0..7 {
            market.tick().await;
        }
        let lost = market.budget("alice").await;
        for _ in 0..3 {
            market.tick().await;
            assert_eq!(market.budget("alice").await, lost);
        }
        assert_eq!(market.info("alice").await[3..], ["0", "4"]);
    });
}

/// Usage was told before the reduces of the same heartbeat were given out.
#[test]
fn defect_28_reduces_count_in_the_interval_in_which_they_were_given_out() {
    with_budgets("alice 100 1\n", async |market| {
        let mut worker = market.worker(2, 2).await;
        market.submit("alice", 2, 2).await;
        market.tick().await;
        worker.fill().await;
        assert_eq!(running(&market, &worker, "alice").await, (2, 2));
        market.tick().await;
        assert_eq!(market.info_but_for_the_wait("alice").await[..4], ["96.0", "1.0", "1.000000000", "4"]);
    });
}

/// Dead jobs and jobs that could not run kept a price and a share.
#[test]
fn defect_29_only_jobs_that_can_run_count() {
    with_budgets("alice 100 1\nbob 100 1\n", async |market| {
        let job = market.submit("alice", 5, 0).await;
        market.submit("bob", 5, 0).await;
        market.tick().await;
        assert_eq!(market.price().await, "2.0");
        market.kill("alice", job).await;
        assert_eq!(market.run_state(job).await, Some(RunState::Killed));
        market.tick().await;
        assert_eq!((market.price().await, market.info("alice").await[4].clone()), ("1.0".to_owned(), "0".to_owned()));
    });
}

/// Rounded one by one, quotas exceeded the slots, or a share below half a slot never had one.
#[test]
fn defect_30_quotas_sum_to_the_slots_and_a_small_share_has_a_slot_over_time() {
    with_budgets("alice 1000 1\nbob 1000 1\ncarol 1000 1\nqueue1 1000 1\nqueue2 1000 1\n", async |market| {
        const QUEUES: [&str; 5] = ["alice", "bob", "carol", "queue1", "queue2"];
        let mut worker = market.worker(2, 1).await;
        for queue in QUEUES {
            market.submit(queue, 5, 1).await;
        }
        let mut given = [0; 5];
        for _ in 0..5 {
            market.tick().await;
            // It would be lost if it kept silent for so long.
            worker.beat().await;
            let quotas = QUEUES.map(|queue| quota(&market, queue));
            assert_eq!(quotas.iter().map(|quota| quota.map).sum::<u32>(), 2);
            assert_eq!(quotas.iter().map(|quota| quota.reduce).sum::<u32>(), 1);
            for (given, quota) in given.iter_mut().zip(quotas) {
                *given += quota[Kind::Map];
            }
        }
        assert_eq!(given, [2; 5], "two slots among five for five intervals");
    });
}

/// Maps of a heartbeat were taken off the free reduce slots, twice.
#[test]
fn defect_31_one_heartbeat_fills_the_slots_of_both_kinds() {
    with_budgets("alice 100 1\n", async |market| {
        let mut worker = market.worker(4, 3).await;
        market.submit("alice", 9, 9).await;
        market.tick().await;
        for _ in 0..10 {
            let launched = worker.beat().await;
            let count = launched.iter().filter(|action| matches!(action, Action::LaunchTask(_))).count();
            // The setup is given by itself.
            if count > 1 {
                assert_eq!((count, worker.running().values().copied().collect::<Vec<_>>()), (7, vec![(4, 3)]));
                return;
            }
        }
        panic!("the job is never given out");
    });
}

const PREEMPTING: &[&str] = &["mapred.priority-scheduler.kill-interval=100"];

/// Reduces were never preempted, a queue with two jobs lost twice its excess, and those died that had come least far.
#[test]
fn defect_32_maps_and_reduces_are_preempted_down_to_the_quota_shortest_running_first() {
    let terms = Terms { budgets: "alice 1000 1\nbob 1000 1\n", overrides: PREEMPTING, ..Terms::default() };
    with_market(terms, async |market| {
        let mut worker = market.worker(6, 2).await;
        // Two jobs of alice hold everything.
        let early = market.submit("alice", 3, 1).await;
        market.tick().await;
        worker.fill().await;
        let late = market.submit("alice", 3, 1).await;
        market.tick().await;
        worker.fill().await;
        assert_eq!(running(&market, &worker, "alice").await, (6, 2));
        market.submit("bob", 6, 2).await;
        for _ in 0..5 {
            market.tick_after_beat(&mut worker).await;
            worker.fill().await;
        }
        assert_eq!((quota(&market, "alice"), quota(&market, "bob")), (PerKind::new(3, 1), PerKind::new(3, 1)));
        assert_eq!(running(&market, &worker, "alice").await, (3, 1));
        assert_eq!(running(&market, &worker, "bob").await, (3, 1));
        let of =
            |kind: Kind| worker.killed.iter().filter(|attempt| attempt.task.kind == kind).collect::<Vec<&AttemptId>>();
        assert_eq!((of(Kind::Map).len(), of(Kind::Reduce).len()), (3, 1), "no more than was over: {:?}", worker.killed);
        // All from the job whose attempts have run for the shortest time.
        assert!(worker.killed.iter().all(|attempt| attempt.task.job == late), "{:?} not of {early}", worker.killed);
    });
}

/// The price played no role for slots that a queue had bought and did not use.
#[test]
fn defect_33_spare_slots_go_to_the_highest_rate_first() {
    with_budgets("alice 1000 1\nbob 1000 3\ncarol 1000 1\n", async |market| {
        let mut worker = market.worker(10, 0).await;
        // Carol could buy two slots of ten and has work for one; alice came before bob.
        market.submit("carol", 1, 0).await;
        market.submit("alice", 20, 0).await;
        market.submit("bob", 20, 0).await;
        market.tick().await;
        assert_eq!(["alice", "bob", "carol"].map(|queue| quota(&market, queue).map), [2, 7, 1]);
        worker.fill().await;
        assert_eq!(running(&market, &worker, "carol").await, (1, 0));
        assert_eq!(running(&market, &worker, "alice").await, (2, 0));
        assert_eq!(running(&market, &worker, "bob").await, (7, 0));
    });
}

/// The document: the queue must match the user.
#[test]
fn defect_35_administrators_too_submit_to_their_own_queue_only() {
    with_budgets("alice 100 1\nroot 100 1\n", async |market| {
        let mut signed = market.job_signature("root");
        signed[2].1 = "alice".to_owned();
        signed.push(("mapred.map.tasks".to_owned(), "1".to_owned()));
        let (_, text) = market.submit_with("root", &signed, 1).await.unwrap_err();
        assert!(text.contains("queue \"alice\" differs from user \"root\""), "{text}");
        market.submit("root", 1, 0).await;
    });
}

/// With one interval's money a queue took any number of slots, and the charge was waived.
#[test]
fn defect_36_a_quota_is_cut_to_what_the_budget_pays() {
    with_budgets("alice 1 1\nbob 100 1\n", async |market| {
        let mut worker = market.worker(6, 2).await;
        market.submit("alice", 8, 2).await;
        market.submit("bob", 8, 2).await;
        market.tick().await;
        let bought = quota(&market, "alice");
        assert_eq!(bought.map + bought.reduce, 1);
        worker.fill().await;
        market.tick().await;
        assert_eq!(market.info_but_for_the_wait("alice").await[..3], ["0.0", "0.0", "0.000000000"]);
    });
}
