//! Which job pays what; that the sum is the queue's charge is checked in [`super::market_laws`].

use crate::engine::{Caller, Event, ForeignState};
use crate::model::{JobId, PerKind};

use super::cluster::{Cluster, Fate, spec};
use super::market::market;
use super::preemption::{hang, live};

fn submit(cluster: &mut Cluster, user: &str, maps: u32) -> JobId {
    cluster.pass_ms(1);
    let signature = cluster.signature(user);
    cluster.submit_signed(spec(user, user, maps, 0), signature).unwrap()
}

fn cost(cluster: &Cluster, job: JobId) -> (String, PerKind<u64>) {
    let cost = cluster.engine.market.as_ref().unwrap().costs.of(cluster.engine.jobs.get(job).unwrap()).unwrap();
    (cost.cost.to_string(), cost.slot_ms)
}

fn tick(cluster: &mut Cluster) {
    cluster.now.mono_ms = cluster.engine.rounds.update.due_mono_ms();
    cluster.timer();
}

#[test]
fn jobs_pay_in_proportion_to_the_time_of_their_slots() {
    let mut cluster = market(&[("alice", "100", "0.5"), ("bob", "100", "0.5")]);
    cluster.add_tracker("h0", 6, 0);
    // The later id is submitted first.
    let late = cluster.new_job_id("alice");
    let early = submit(&mut cluster, "alice", 2);
    cluster.pass_ms(1);
    let signature = cluster.signature("alice");
    let caller = Caller::named("alice");
    cluster.step(Event::SubmissionRequested { id: late, caller });
    let read = cluster.read_submission(late, spec("alice", "alice", 9, 0), signature);
    cluster.step(Event::SubmissionRead(Box::new(read)));
    cluster.step(Event::SystemDirWritten { id: late });
    assert!(late < early);
    live(&mut cluster, 900, hang);
    tick(&mut cluster);
    assert_eq!(cost(&cluster, early).0, "0.0", "no interval has been bought yet");
    // Another queue that waits halves the quota; six slots are held all the same.
    submit(&mut cluster, "bob", 9);
    tick(&mut cluster);
    assert_eq!([cost(&cluster, early), cost(&cluster, late)].map(|(cost, _)| cost), ["1.0", "2.0"]);
    tick(&mut cluster);
    assert_eq!(cost(&cluster, early), ("1.5".to_owned(), PerKind::new(4_000, 0)), "a third of what three slots cost");
    assert_eq!(cost(&cluster, late), ("3.0".to_owned(), PerKind::new(8_000, 0)), "it holds four of the six");
    let shown = cluster.engine.build_snapshot(cluster.now).value.jobs;
    let shown: Vec<_> = shown.iter().map(|job| job.cost.as_deref()).collect();
    assert_eq!(shown, [Some("0.0"), Some("1.5"), Some("3.0")], "latest id first");
}

#[test]
fn a_job_that_is_over_pays_for_what_it_still_holds() {
    let mut cluster = market(&[("alice", "100", "1")]);
    cluster.add_tracker("h0", 1, 1);
    cluster.add_tracker("h1", 4, 0);
    let job = submit(&mut cluster, "alice", 5);
    live(&mut cluster, 900, hang);
    tick(&mut cluster);
    cluster.step(Event::KillJob { id: job, caller: Caller::named("alice") });
    // The cleanup on one tracker ends the job; the maps on the other hang until KILL_JOB arrives.
    for _ in 0..20 {
        if cluster.engine.jobs.get(job).unwrap().is_over() {
            break;
        }
        cluster.beat(0, hang);
    }
    let group = cluster.engine.cluster.scheduler.group("alice").unwrap();
    assert_eq!(cluster.engine.cluster.scheduler.usage(group).map, 4);
    tick(&mut cluster);
    assert_eq!(cost(&cluster, job), ("4.0".to_owned(), PerKind::new(4_000, 0)));
    (0..4).for_each(|_| drop(cluster.beat(1, |_| Fate::Succeed)));
    assert_eq!(cluster.engine.cluster.scheduler.usage(group).map, 0);
    for _ in 0..2 {
        tick(&mut cluster);
        assert_eq!(cost(&cluster, job).0, "4.0", "what holds nothing pays nothing, and its cost is remembered");
    }
}

#[test]
fn a_job_that_leaves_memory_takes_its_cost_along() {
    let mut cluster = market(&[("alice", "100", "1")]);
    cluster.engine.config.finished_jobs_kept = 1;
    cluster.add_tracker("h0", 4, 0);
    let first = submit(&mut cluster, "alice", 1);
    cluster.run(first, |_| Fate::Succeed);
    assert!(cluster.engine.build_snapshot(cluster.now).value.jobs[0].cost.is_some());
    let second = submit(&mut cluster, "alice", 1);
    cluster.run(second, |_| Fate::Succeed);
    (0..3).for_each(|_| drop(cluster.beat(0, |_| Fate::Succeed)));
    assert!(cluster.engine.jobs.get(first).is_none());
    tick(&mut cluster);
    let text = format!("{:?}", cluster.engine.market.as_ref().unwrap().costs);
    assert!(!text.contains(&format!("{first:?}")) && text.contains(&format!("{second:?}")), "{text}");
}

#[test]
fn what_a_job_has_cost_stays_charged_when_another_jobtracker_has_ended_it() {
    let mut cluster = market(&[("alice", "100", "1")]);
    cluster.add_tracker("h0", 4, 0);
    let job = submit(&mut cluster, "alice", 9);
    live(&mut cluster, 900, hang);
    tick(&mut cluster);
    tick(&mut cluster);
    let before = cost(&cluster, job);
    assert_eq!(before, ("4.0".to_owned(), PerKind::new(4_000, 0)));
    cluster.trackers[0].attempts.clear();
    cluster.restart_after(ForeignState { unfinished_jobs: Some(Default::default()), ..ForeignState::default() });
    assert!(cluster.engine.jobs.get(job).unwrap().is_over());
    for _ in 0..3 {
        assert_eq!(cost(&cluster, job), before, "and nothing more");
        tick(&mut cluster);
        cluster.beat(0, hang);
    }
}
