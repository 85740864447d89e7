//! Preemption under the market: which attempts are killed and when, their diagnostics, and what is spared.

use crate::engine::{Caller, Decided, Event, Fact, PolicyConfig, Preempted, Victim};
use crate::fake_tracker::Role;
use crate::mapreduce::{Attempt, JobFact, JobSpec, KillRequest};
use crate::model::{AttemptId, AttemptState, Credits, JobId, Kind, PerKind, RunState};
use crate::wire::Action;

use super::cluster::{Cluster, FakeTask, Fate, spec};
use super::market::market_under;

const ALLOC_INTERVAL_MS: u64 = 1_000;
pub(crate) const KILL_INTERVAL_MS: u64 = 2_000;

pub(crate) fn preempting(kill_interval_ms: Option<u64>) -> PolicyConfig {
    PolicyConfig::Dynamic { alloc_interval_ms: ALLOC_INTERVAL_MS, kill_interval_ms }
}

fn equals() -> Cluster {
    let lines = [("alice", "1000", "1"), ("bob", "1000", "1"), ("carol", "1000", "1")];
    let mut cluster = market_under(preempting(Some(KILL_INTERVAL_MS)), &lines);
    cluster.pass_ms(10);
    cluster
}

/// Work hangs, all other tasks succeed.
pub(crate) fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }
}

fn submit(cluster: &mut Cluster, user: &str, maps: u32, reduces: u32) -> JobId {
    let signature = cluster.signature(user);
    let spec = JobSpec { slowstart_millionths: 0, ..spec(user, user, maps, reduces) };
    cluster.submit_signed(spec, signature).unwrap()
}

fn beat_all(cluster: &mut Cluster, fate: impl Fn(&FakeTask) -> Fate + Copy) {
    for index in 0..cluster.trackers.len() {
        cluster.beat(index, fate);
    }
}

/// Time passes in steps in which all trackers call, after the timer has rung where it is due.
pub(crate) fn live(cluster: &mut Cluster, ms: u64, fate: impl Fn(&FakeTask) -> Fate + Copy) {
    for _ in 0..ms / 100 {
        cluster.pass_ms(100);
        if cluster.engine.next_timer_ms().is_some_and(|due| due <= cluster.now.mono_ms) {
            cluster.timer();
        }
        beat_all(cluster, fate);
    }
}

/// Lives on until it is so, and stops before the trackers hear of it.
fn live_until(cluster: &mut Cluster, is_so: impl Fn(&Cluster) -> bool) {
    for _ in 0..1_000 {
        cluster.pass_ms(100);
        cluster.timer();
        if is_so(cluster) {
            return;
        }
        beat_all(cluster, hang);
    }
    panic!("it never is so");
}

pub(crate) fn attempts(cluster: &Cluster) -> Vec<(String, AttemptId, Attempt)> {
    let mut attempts = Vec::new();
    for job in cluster.engine.jobs.iter() {
        for (kind, number) in Kind::ALL.into_iter().flat_map(|kind| (0..job.total()[kind]).map(move |n| (kind, n))) {
            let id = job.id.task(kind, number as i32);
            let task = job.task(job.key_of(id).unwrap());
            let of = |attempt: &Attempt| (job.spec.queue.clone(), id.attempt(attempt.number), attempt.clone());
            attempts.extend(task.attempts.iter().map(of));
        }
    }
    attempts
}

pub(crate) fn is_preempted(attempt: &Attempt) -> bool {
    attempt.preemption.is_some() || attempt.kill_request == Some(KillRequest::Preempt)
}

fn marked(cluster: &Cluster) -> Vec<AttemptId> {
    attempts(cluster).into_iter().filter(|(.., attempt)| is_preempted(attempt)).map(|(_, id, _)| id).collect()
}

fn orders(cluster: &Cluster) -> Vec<AttemptId> {
    let order = |fact: &Fact| match fact {
        Fact::Job(JobFact::AttemptKillRequested { attempt, request: KillRequest::Preempt }) => Some(*attempt),
        _ => None,
    };
    cluster.facts.iter().filter_map(order).collect()
}

fn decided(cluster: &Cluster) -> Vec<Preempted> {
    let decided = |fact: &Fact| match fact {
        Fact::Decided(decision) => match &decision.what {
            Decided::Preempted(preempted) => Some(preempted.clone()),
            _ => None,
        },
        _ => None,
    };
    cluster.facts.iter().filter_map(decided).collect()
}

fn running(cluster: &Cluster, queue: &str) -> PerKind<u32> {
    let scheduler = &cluster.engine.cluster.scheduler;
    scheduler.usage(scheduler.group(queue).unwrap())
}

#[test]
fn a_queue_that_comes_back_gets_what_it_has_bought_and_no_more_dies_for_it() {
    for (maps, reduces) in [(8, 0), (1, 8)] {
        let kind = if reduces == 0 { Kind::Map } else { Kind::Reduce };
        let mut cluster = equals();
        cluster.add_tracker("h0", 2, 2);
        cluster.add_tracker("h1", 2, 2);
        let fate = |task: &FakeTask| match task.id.task.kind == Kind::Map && kind == Kind::Reduce {
            true => Fate::Succeed,
            false => hang(task),
        };
        submit(&mut cluster, "alice", maps, reduces);
        live(&mut cluster, 3_000, fate);
        assert_eq!(running(&cluster, "alice")[kind], 4);
        let id = submit(&mut cluster, "bob", maps, reduces);
        live(&mut cluster, ALLOC_INTERVAL_MS + KILL_INTERVAL_MS, fate);
        // The kills for all that may wait were ordered by then; a slot is free once the cleaning up is over.
        live(&mut cluster, KILL_INTERVAL_MS + 1_000, fate);
        assert_eq!((running(&cluster, "alice")[kind], running(&cluster, "bob")[kind]), (2, 2), "{kind:?}");
        assert_eq!(orders(&cluster).len(), 2);
        assert_eq!(cluster.state(id), RunState::Running);
        live(&mut cluster, 5 * KILL_INTERVAL_MS, fate);
        assert_eq!(orders(&cluster).len(), 2, "all have what they have bought");
    }
}

#[test]
fn the_kills_are_ordered_within_an_allocation_a_round_and_a_heartbeat() {
    let mut cluster = equals();
    cluster.add_tracker("h0", 4, 1);
    submit(&mut cluster, "alice", 8, 0);
    live(&mut cluster, 3_000, hang);
    // Bob's setup finds the slot for reduces.
    submit(&mut cluster, "bob", 8, 0);
    let waiting = |cluster: &Cluster| {
        cluster.engine.cluster.scheduler.waiting(cluster.engine.cluster.scheduler.group("bob").unwrap())
    };
    live_until(&mut cluster, |cluster| waiting(cluster).map > 0);
    live(&mut cluster, ALLOC_INTERVAL_MS + KILL_INTERVAL_MS + 100, hang);
    assert_eq!(orders(&cluster).len(), 2);
}

#[test]
fn a_job_that_is_not_set_up_gets_the_slot_for_it() {
    let mut cluster = equals();
    cluster.add_tracker("h0", 4, 0);
    submit(&mut cluster, "alice", 8, 0);
    live(&mut cluster, 3_000, hang);
    submit(&mut cluster, "bob", 1, 0);
    live(&mut cluster, 2 * KILL_INTERVAL_MS + 1_000, hang);
    assert_eq!((running(&cluster, "alice").map, running(&cluster, "bob").map), (3, 1));
    assert_eq!(orders(&cluster).len(), 1, "the slot of the setup serves the map");
}

#[test]
fn nothing_is_preempted_when_it_is_off_or_in_safe_mode() {
    for is_off in [true, false] {
        let interval_ms = (!is_off).then_some(KILL_INTERVAL_MS);
        let mut cluster = market_under(preempting(interval_ms), &[("alice", "1000", "1"), ("bob", "1000", "1")]);
        cluster.pass_ms(10);
        cluster.add_tracker("h0", 4, 1);
        submit(&mut cluster, "alice", 8, 0);
        live(&mut cluster, 3_000, hang);
        submit(&mut cluster, "bob", 8, 0);
        beat_all(&mut cluster, hang);
        cluster.engine.administration.safe_mode = (!is_off).then(|| "root".into());
        live(&mut cluster, 10_000, hang);
        assert_eq!((marked(&cluster), orders(&cluster)), (vec![], vec![]));
    }
}

#[test]
fn slots_that_come_free_already_are_not_taken_again() {
    let mut cluster = equals();
    cluster.add_tracker("h0", 4, 1);
    submit(&mut cluster, "alice", 8, 0);
    live(&mut cluster, 3_000, hang);
    // There is more to take than he needs.
    submit(&mut cluster, "bob", 1, 0);
    live_until(&mut cluster, |cluster| !marked(cluster).is_empty());
    // The tracker is well, but slow to call.
    for _ in 0..4 {
        cluster.pass_ms(KILL_INTERVAL_MS);
        cluster.timer();
        assert_eq!(marked(&cluster).len(), 1);
    }
    // Nor while its task-cleanup runs.
    live(&mut cluster, 100, hang);
    beat_all(&mut cluster, hang);
    let cleans_up = |cluster: &Cluster| cluster.trackers[0].attempts.iter().any(|task| task.role == Role::TaskCleanup);
    assert!(!cleans_up(&cluster), "its JVM may still end");
    beat_all(&mut cluster, hang);
    assert!(cleans_up(&cluster));
    for _ in 0..2 {
        cluster.pass_ms(KILL_INTERVAL_MS);
        cluster.timer();
        assert_eq!((marked(&cluster).len(), orders(&cluster).len()), (0, 1));
    }
    // A user's kill counts as well.
    let mut cluster = equals();
    cluster.add_tracker("h0", 4, 1);
    submit(&mut cluster, "alice", 8, 0);
    live(&mut cluster, 3_000, hang);
    submit(&mut cluster, "bob", 2, 0);
    live(&mut cluster, 900, hang);
    let (_, id, _) = attempts(&cluster).into_iter().find(|(queue, ..)| queue == "alice").unwrap();
    cluster.step(Event::KillTask { id, fail: false, caller: Caller::named("alice") });
    cluster.pass_ms(KILL_INTERVAL_MS);
    cluster.timer();
    assert_eq!(marked(&cluster).len(), 1);
}

#[test]
fn the_youngest_attempts_of_the_queue_whose_job_started_last_go() {
    let mut cluster = equals();
    cluster.add_tracker("h0", 6, 1);
    submit(&mut cluster, "alice", 3, 0);
    live(&mut cluster, 500, hang);
    let late = submit(&mut cluster, "bob", 1, 0);
    live(&mut cluster, 500, hang);
    let latest = submit(&mut cluster, "bob", 2, 0);
    live(&mut cluster, 1_000, hang);
    assert_eq!((running(&cluster, "alice").map, running(&cluster, "bob").map), (3, 3));
    submit(&mut cluster, "carol", 9, 0);
    live(&mut cluster, ALLOC_INTERVAL_MS + KILL_INTERVAL_MS + 200, hang);
    // Each has bought two of six: both that are over lose their youngest one.
    let lost = orders(&cluster);
    assert_eq!(lost.iter().filter(|attempt| attempt.task.job == latest).count(), 1);
    assert!(lost.iter().all(|attempt| attempt.task.job != late));
    assert_eq!(lost.len(), 2);
}

#[test]
fn a_preempted_attempt_has_diagnostics_and_has_not_failed() {
    let mut cluster = equals();
    cluster.add_tracker("h0", 2, 1);
    let id = submit(&mut cluster, "alice", 4, 0);
    live(&mut cluster, 3_000, hang);
    let bob = submit(&mut cluster, "bob", 1, 0);
    live(&mut cluster, ALLOC_INTERVAL_MS + KILL_INTERVAL_MS + 1_000, hang);
    let [victim] = orders(&cluster)[..] else { panic!("{:?}", orders(&cluster)) };
    let one: Option<Credits> = "1".parse().ok();
    let [decided] = &decided(&cluster)[..] else { panic!("{:?}", decided(&cluster)) };
    assert_eq!((decided.victim, &*decided.queue), (Victim::Attempt(victim), "alice"));
    assert_eq!(decided.rate, one, "both sides' rates are those of when it was decided");
    assert_eq!(decided.lost_ms, decided.age_ms);
    assert!((3_000..7_000).contains(&decided.age_ms), "{decided:?}");
    let [short] = &decided.claimants[..] else { panic!("{decided:?}") };
    assert_eq!((&*short.queue, short.missing, short.rate), ("bob", 1, one));
    let find = |cluster: &Cluster| attempts(cluster).into_iter().find(|(_, id, _)| *id == victim).unwrap().2;
    let text = "Preempted: queue alice is over its quota of map slots, and others are below theirs";
    assert_eq!(
        find(&cluster).diagnostics.joined(),
        text,
        "no word of a user, none of another queue, and no number of what was bought"
    );
    assert_eq!(find(&cluster).state, AttemptState::Killed);
    assert!(cluster.facts.iter().any(
        |fact| matches!(fact, Fact::Job(JobFact::AttemptReported { attempt, diagnostics, .. }) if *attempt == victim && diagnostics == text)
    ));
    let job = cluster.engine.jobs.get(id).unwrap();
    assert_eq!(job.task(job.key_of(victim.task).unwrap()).failures, 0);
    assert_eq!(job.flaky_hosts().count(), 0);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    assert_eq!(cluster.run(bob, |_| Fate::Succeed), RunState::Succeeded);
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.attempts_preempted, 1);
}

#[test]
fn what_is_done_or_waits_for_its_commit_when_its_tracker_calls_is_left_alone() {
    for (maps, reduces, end) in [(2, 0, AttemptState::Succeeded), (0, 2, AttemptState::CommitPending)] {
        let kind = if maps > 0 { Kind::Map } else { Kind::Reduce };
        let mut cluster = equals();
        cluster.add_tracker("h0", 2, 2);
        submit(&mut cluster, "alice", maps, reduces);
        live(&mut cluster, 3_000, hang);
        submit(&mut cluster, "bob", maps, reduces);
        live_until(&mut cluster, |cluster| !marked(cluster).is_empty());
        let [victim] = marked(&cluster)[..] else { panic!("one is over") };
        for task in cluster.trackers[0].attempts.iter_mut().filter(|task| task.id == victim) {
            task.state = end;
        }
        let (response, _) = cluster.beat(0, |_| Fate::Hang);
        assert!(!response.actions.contains(&Action::KillTask(victim)), "{kind:?}");
        assert_eq!(orders(&cluster), []);
        assert_eq!(decided(&cluster), [], "a mark that was dropped is no decision");
        beat_all(&mut cluster, hang);
        let (_, _, attempt) = attempts(&cluster).into_iter().find(|(_, id, _)| *id == victim).unwrap();
        assert_eq!((attempt.state, attempt.diagnostics.is_empty()), (AttemptState::Succeeded, true), "{kind:?}");
    }
}

#[test]
fn what_waits_for_its_commit_is_never_chosen() {
    let mut cluster = equals();
    cluster.add_tracker("h0", 0, 3);
    submit(&mut cluster, "alice", 0, 3);
    live(&mut cluster, 3_000, hang);
    let committing = |cluster: &mut Cluster| {
        for task in cluster.trackers[0].attempts.iter_mut().filter(|task| task.id.task.job.number == 1) {
            task.state = AttemptState::CommitPending;
        }
    };
    submit(&mut cluster, "bob", 0, 3);
    for _ in 0..60 {
        committing(&mut cluster);
        cluster.pass_ms(100);
        cluster.timer();
        beat_all(&mut cluster, hang);
        committing(&mut cluster);
    }
    assert_eq!((marked(&cluster), orders(&cluster)), (vec![], vec![]));
}

#[test]
fn no_attempt_dies_where_the_waiting_task_may_not_run() {
    let mut cluster = equals();
    cluster.add_tracker("h0", 1, 1);
    cluster.add_tracker("h1", 1, 1);
    // Bob's map fails on the host that it gets.
    let bob = submit(&mut cluster, "bob", 1, 0);
    live(&mut cluster, 500, hang);
    let tracker = cluster.trackers.iter().position(|tracker| !tracker.attempts.is_empty()).unwrap();
    let alice = submit(&mut cluster, "alice", 4, 0);
    live(&mut cluster, 500, hang);
    cluster.beat(tracker, |task| if task.id.task.job == bob { Fate::Fail } else { Fate::Hang });
    live(&mut cluster, 3 * KILL_INTERVAL_MS, hang);
    let lost = attempts(&cluster).into_iter().filter(|(.., attempt)| attempt.state == AttemptState::Killed);
    let lost: Vec<_> = lost.map(|(_, id, attempt)| (id.task.job, attempt.tracker)).collect();
    let other = cluster.engine.trackers.id_of(cluster.trackers[1 - tracker].name.as_str()).unwrap();
    assert_eq!(lost, [(alice, other)]);
    assert_eq!(running(&cluster, "bob").map, 1);
}

/// Found by the simulator: many jobs that cannot use a tracker hid the one behind them that can.
#[test]
fn a_job_that_may_use_the_slot_is_found_behind_any_number_that_may_not() {
    let mut cluster = equals();
    cluster.add_tracker("h0", 4, 1);
    cluster.add_tracker("h1", 1, 1);
    beat_all(&mut cluster, hang);
    // Each of these has failed on the one tracker; one of them holds the slot of the other.
    for _ in 0..30 {
        cluster.pass_ms(1);
        submit(&mut cluster, "alice", 1, 0);
    }
    let fail_on_first = |task: &FakeTask| match (task.role == Role::Housekeeping, task.id.number) {
        (true, _) => Fate::Succeed,
        (false, 0) => Fate::Fail,
        (false, _) => Fate::Hang,
    };
    (0..80).for_each(|_| drop(cluster.beat(0, fail_on_first)));
    cluster.beat(1, fail_on_first);
    submit(&mut cluster, "bob", 8, 0);
    (0..5).for_each(|_| drop(cluster.beat(0, hang)));
    let hold = |cluster: &mut Cluster| {
        for _ in 0..40 {
            cluster.pass_ms(100);
            cluster.timer();
            cluster.beat(0, hang);
            cluster.beat(1, hang);
        }
    };
    hold(&mut cluster);
    assert_eq!((running(&cluster, "alice").map, running(&cluster, "bob").map, orders(&cluster).len()), (1, 4, 0));
    submit(&mut cluster, "alice", 1, 0);
    hold(&mut cluster);
    assert_eq!((running(&cluster, "alice").map, running(&cluster, "bob").map, orders(&cluster).len()), (2, 3, 1));
}

#[test]
fn a_silent_tracker_has_nothing_to_give_and_nothing_to_lose() {
    let mut cluster = equals();
    cluster.add_tracker("h0", 2, 1);
    cluster.add_tracker("h1", 2, 1);
    submit(&mut cluster, "alice", 8, 0);
    live(&mut cluster, 3_000, hang);
    // The second tracker does not call any more, and is not lost yet.
    let live_one = |cluster: &mut Cluster, turns: u64| {
        for _ in 0..turns {
            cluster.pass_ms(100);
            cluster.timer();
            cluster.beat(0, hang);
        }
    };
    live_one(&mut cluster, 120);
    submit(&mut cluster, "bob", 8, 0);
    live_one(&mut cluster, 120);
    let silent = cluster.engine.trackers.id_of(cluster.trackers[1].name.as_str()).unwrap();
    assert!(attempts(&cluster).iter().all(|(.., attempt)| attempt.tracker != silent || !is_preempted(attempt)));
    assert_eq!((running(&cluster, "alice").map, running(&cluster, "bob").map), (2, 2));
}

#[test]
fn another_attempt_is_chosen_where_the_tracker_of_the_first_never_gets_its_kill() {
    let mut cluster = equals();
    cluster.add_tracker("h0", 2, 1);
    cluster.add_tracker("h1", 2, 1);
    submit(&mut cluster, "alice", 8, 0);
    live(&mut cluster, 3_000, hang);
    submit(&mut cluster, "bob", 8, 0);
    live_until(&mut cluster, |cluster| marked(cluster).len() == 2);
    let engine = &cluster.engine;
    let tracker_id_of =
        |cluster: &Cluster, index: usize| cluster.engine.trackers.id_of(cluster.trackers[index].name.as_str()).unwrap();
    let silent = (0..2).find(|index| {
        let tracker = tracker_id_of(&cluster, *index);
        marked(&cluster)
            .iter()
            .any(|id| engine.jobs.get(id.task.job).unwrap().undelivered_preemption(*id) == Some(tracker))
    });
    let calling = 1 - silent.unwrap();
    for _ in 0..200 {
        cluster.pass_ms(100);
        cluster.timer();
        cluster.beat(calling, hang);
    }
    let silent = tracker_id_of(&cluster, 1 - calling);
    assert!(attempts(&cluster).iter().all(|(.., attempt)| attempt.tracker != silent || !is_preempted(attempt)));
    assert_eq!((running(&cluster, "alice").map, running(&cluster, "bob").map), (2, 2));
}

#[test]
fn the_end_of_a_job_takes_its_marks_back() {
    let mut cluster = equals();
    cluster.add_tracker("h0", 2, 1);
    let id = submit(&mut cluster, "alice", 4, 0);
    live(&mut cluster, 3_000, hang);
    submit(&mut cluster, "bob", 1, 0);
    live_until(&mut cluster, |cluster| !marked(cluster).is_empty());
    cluster.step(Event::KillJob { id, caller: Caller::named("alice") });
    assert_eq!(marked(&cluster), []);
    live(&mut cluster, 1_000, hang);
    assert_eq!((orders(&cluster), cluster.state(id)), (vec![], RunState::Killed));
}

#[test]
fn a_user_has_the_last_word_on_a_preempted_attempt() {
    let mut cluster = equals();
    cluster.add_tracker("h0", 2, 1);
    submit(&mut cluster, "alice", 4, 0);
    live(&mut cluster, 3_000, hang);
    submit(&mut cluster, "bob", 1, 0);
    live_until(&mut cluster, |cluster| !marked(cluster).is_empty());
    let [id] = marked(&cluster)[..] else { panic!("one is over") };
    cluster.step(Event::KillTask { id, fail: true, caller: Caller::named("alice") });
    live(&mut cluster, 500, hang);
    let (_, _, attempt) = attempts(&cluster).into_iter().find(|(_, found, _)| *found == id).unwrap();
    assert_eq!(attempt.state, AttemptState::Failed);
    assert!(attempt.diagnostics.joined().contains("Task has been FAILED"), "{:?}", attempt.diagnostics);
}
