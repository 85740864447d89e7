//! Deadlines from submission to their end, over restarts and under other schedulers.

use std::sync::Arc;

use crate::engine::{Caller, DeadlineQuestion, Event, PauseTarget, PolicyConfig, Reply, VolatileWalk};
use crate::fake_tracker::Role;
use crate::mapreduce::JobSpec;
use crate::model::{JobId, Kind, RunState};
use crate::scheduler::constraint::{
    AdmissionRule, ConstraintConfig, DeadlineChange, DeadlineSpec, Due, InputVolume, KeySpread, NewDeadline, OnMissed,
    StatedCost,
};

use super::cluster::{Cluster, FakeTask, Fate, advance, fifo, spec};
use super::scheduler_report::why;
use super::scheduler_switch::{done, wish};

fn constraint(config: ConstraintConfig) -> PolicyConfig {
    PolicyConfig::Constraint(config)
}

/// Four map slots and two reduce slots.
fn cluster(config: ConstraintConfig) -> Cluster {
    let mut cluster = Cluster::new(constraint(config));
    cluster.add_tracker("h0", 2, 1);
    cluster.add_tracker("h1", 2, 1);
    beat_all(&mut cluster, 1, hang);
    cluster
}

/// Maps and reduces of ten seconds each.
fn due(maps: u32, reduces: u32, deadline_ms: u64) -> JobSpec {
    let deadline = DeadlineSpec {
        due: Due::AfterMs(deadline_ms),
        map: Some(StatedCost::TaskMs(10_000)),
        reduce: Some(StatedCost::TaskMs(10_000)),
        copy_us_per_mb: None,
        filter_millionths: Some(0),
        keys: KeySpread::Uniform,
    };
    JobSpec { deadline: Some(deadline), ..spec("alice", "default", maps, reduces) }
}

fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }
}

fn beat_all(cluster: &mut Cluster, times: usize, fate: impl Fn(&FakeTask) -> Fate) {
    for _ in 0..times {
        cluster.pass_ms(100);
        cluster.timer();
        (0..cluster.trackers.len()).for_each(|index| drop(cluster.beat(index, &fate)));
    }
}

fn report(cluster: &Cluster, id: JobId) -> String {
    cluster.engine.job_status(id).value.unwrap().scheduling_info.0
}

fn running(cluster: &Cluster, id: JobId) -> (u32, u32) {
    let running = cluster.engine.jobs.get(id).unwrap().running();
    (running[Kind::Map], running[Kind::Reduce])
}

#[test]
fn a_deadline_that_cannot_be_kept_is_refused_at_the_submission_and_leaves_nothing() {
    let mut cluster = cluster(ConstraintConfig::default());
    let jobs = cluster.engine.jobs.iter().count();
    let refusal = cluster.submit(due(8, 0, 19_000)).unwrap_err().to_string();
    assert!(
        refusal.contains("rejected by the constraint scheduler: deadline 19.0 s needs 5 map slots, 4 free"),
        "{refusal}"
    );
    assert!(refusal.ends_with("earliest feasible deadline now 20.0 s"), "{refusal}");
    assert_eq!(cluster.engine.jobs.iter().count(), jobs);
    cluster.submit(due(8, 0, 21_000)).unwrap();
    let refusal = cluster.submit(due(1, 0, 25_000)).unwrap_err().to_string();
    assert!(refusal.contains("needs 1 map slot, 0 free"), "{refusal}");
    cluster.submit(spec("bob", "default", 4, 0)).unwrap();
}

#[test]
fn a_plan_that_starts_later_is_said_everywhere_and_stays_over_restarts() {
    let mut cluster = cluster(ConstraintConfig::default());
    cluster.submit(due(8, 0, 21_000)).unwrap();
    let question = DeadlineQuestion {
        deadline: due(4, 0, 70_000).deadline.unwrap(),
        input: InputVolume::in_equal_splits(0, 4),
        are_maps_known: true,
        reduces: 0,
        class: None,
    };
    let answer = cluster.engine.what_if(&question, cluster.now).unwrap();
    assert_eq!((answer.min_maps, answer.free_maps, answer.schedulable), (Some(1), 0, true), "{answer:?}");
    let until_ms = answer.promised_until_ms.unwrap() - cluster.now.wall_ms;
    assert!((10_000..=20_000).contains(&until_ms), "{answer:?}");
    assert_eq!(answer.planned_start_ms, Some(until_ms), "{answer:?}");
    let id = cluster.submit(due(4, 0, 70_000)).unwrap();
    let plan = |cluster: &Cluster| report(cluster, id).split_once("). ").map(|(_, plan)| plan.to_owned()).unwrap();
    let before = plan(&cluster);
    assert!(before.starts_with("Maps 0/1 minimum from "), "{before}");
    beat_all(&mut cluster, 3, hang);
    assert_eq!(running(&cluster, id), (0, 0), "its slots are promised to the other");
    let reasons = why(&cluster, id).join("\n");
    assert!(reasons.contains("the map slots that keep its deadline are promised to others for 1"), "{reasons}");
    let deadline = super::scheduler_report::report(&cluster)
        .jobs
        .iter()
        .find(|job| job.job == id)
        .unwrap()
        .deadline
        .clone()
        .unwrap();
    assert!(deadline.planned_start_ms.is_some_and(|start_ms| start_ms > cluster.now.wall_ms), "{deadline:?}");
    cluster.crash(1_000, hang);
    beat_all(&mut cluster, 2, hang);
    assert_eq!(plan(&cluster), before, "after a restart");
    done(&mut cluster, wish(fifo()));
    done(&mut cluster, wish(constraint(ConstraintConfig::default())));
    assert_eq!(plan(&cluster), before, "after two switches");
}

#[test]
fn a_map_time_that_is_not_true_is_learned_when_the_promise_is_over() {
    let mut cluster = cluster(ConstraintConfig::default());
    let mut spec = due(8, 0, 60_000);
    spec.deadline.as_mut().unwrap().map = Some(StatedCost::TaskMs(1));
    let id = cluster.submit(spec).unwrap();
    beat_all(&mut cluster, 6, hang);
    assert_eq!((running(&cluster, id).0, report(&cluster, id).contains("ON_TIME")), (1, true));
    cluster.pass_ms(30_000);
    beat_all(&mut cluster, 2, hang);
    // Its tracker says how long it took; a fake task says a second, however long it hung.
    for index in 0..cluster.trackers.len() {
        cluster.trackers[index].attempts.iter_mut().for_each(|task| advance(task, Fate::Succeed));
        let mut request = cluster.request(index);
        for task in request.status.tasks.iter_mut().filter(|task| task.finish_ms > 0) {
            task.finish_ms = task.start_ms + 30_000;
        }
        cluster.send(index, request);
    }
    cluster.pass_ms(1_000);
    beat_all(&mut cluster, 2, hang);
    let estimate = cluster.engine.jobs.get(id).unwrap().estimate;
    assert!(estimate.slowest_map_us.is_some_and(|us| us >= 30_000_000), "{estimate:?}");
    assert!(report(&cluster, id).contains("AT_RISK"), "{}", report(&cluster, id));
}

#[test]
fn without_a_worker_a_refusal_says_so() {
    let mut cluster = Cluster::new(constraint(ConstraintConfig::default()));
    let refusal = cluster.submit(due(2, 0, 60_000)).unwrap_err().to_string();
    assert!(refusal.ends_with("deadline 60.0 s cannot be kept: no worker is connected"), "{refusal}");
    let mut cluster =
        Cluster::new(constraint(ConstraintConfig { admission: AdmissionRule::Warn, ..ConstraintConfig::default() }));
    let id = cluster.submit(due(2, 0, 60_000)).unwrap();
    assert!(report(&cluster, id).contains("AT_RISK). Maps 0/1 minimum"), "{}", report(&cluster, id));
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.deadlines, Some([0, 1, 0]));
    cluster.add_tracker("h0", 2, 1);
    cluster.pass_ms(1_000);
    beat_all(&mut cluster, 2, hang);
    cluster.pass_ms(1_000);
    beat_all(&mut cluster, 2, hang);
    assert!(report(&cluster, id).contains("ON_TIME"), "{}", report(&cluster, id));
    let mut walk = VolatileWalk::default();
    let mut slices = std::iter::repeat_with(|| cluster.engine.walk_volatile(&mut walk, false, cluster.now));
    let delta = slices.find_map(|delta| delta).unwrap();
    assert_eq!(delta.head.deadlines, Some([1, 0, 0]));
}

#[test]
fn a_job_gets_its_minimum_and_its_reduces_after_its_last_map() {
    let mut cluster = cluster(ConstraintConfig::default());
    let id = cluster.submit(due(4, 2, 40_000)).unwrap();
    beat_all(&mut cluster, 6, hang);
    assert_eq!(running(&cluster, id), (2, 0));
    let other = cluster.submit(spec("bob", "default", 8, 0)).unwrap();
    beat_all(&mut cluster, 6, hang);
    assert_eq!((running(&cluster, id), running(&cluster, other)), ((2, 0), (2, 0)));
    assert_eq!(
        report(&cluster, id),
        "Deadline 40.0 s (left 38.8 s, ON_TIME). Maps 2/2 minimum. Reduces 0/2 minimum. Reduce start limit 30.0 s."
    );
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn a_deadline_stays_over_restarts_and_other_schedulers() {
    let mut cluster = cluster(ConstraintConfig::default());
    let id = cluster.submit(due(4, 2, 40_000)).unwrap();
    beat_all(&mut cluster, 6, hang);
    let plan = |cluster: &Cluster| report(cluster, id).split_once("). ").map(|(_, plan)| plan.to_owned());
    let before = plan(&cluster).unwrap();
    cluster.crash(1_000, hang);
    beat_all(&mut cluster, 2, hang);
    assert_eq!(plan(&cluster).unwrap(), before);
    for _ in 0..2 {
        done(&mut cluster, wish(fifo()));
        assert_eq!(plan(&cluster), None);
        beat_all(&mut cluster, 2, hang);
        let plan_of_switch = done(&mut cluster, wish(constraint(ConstraintConfig::default())));
        assert!(plan_of_switch.at_risk.is_empty(), "{plan_of_switch:?}");
        beat_all(&mut cluster, 2, hang);
        assert!(plan(&cluster).unwrap().ends_with("Reduce start limit 30.0 s."), "{:?}", plan(&cluster));
    }
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn a_missed_deadline_demotes_or_kills() {
    for (on_missed, state) in [(OnMissed::Demote, RunState::Running), (OnMissed::Kill, RunState::Killed)] {
        let mut cluster = cluster(ConstraintConfig { on_missed, ..ConstraintConfig::default() });
        let id = cluster.submit(due(4, 0, 21_000)).unwrap();
        beat_all(&mut cluster, 6, hang);
        cluster.pass_ms(21_000);
        beat_all(&mut cluster, 20, hang);
        assert_eq!(cluster.state(id), state);
        if state == RunState::Killed {
            let reason = cluster.engine.job_status(id).value.unwrap().failure_info.to_string();
            assert!(reason.ends_with("missed its deadline (mapred.constraint-scheduler.on-missed = kill)"), "{reason}");
        } else {
            assert!(report(&cluster, id).contains("LATE). Maps 4/"), "{}", report(&cluster, id));
        }
    }
}

#[test]
fn a_switch_takes_deadlines_that_cannot_be_kept_too() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let id = cluster.submit(due(40, 2, 60_000)).unwrap();
    beat_all(&mut cluster, 6, hang);
    let plan = done(&mut cluster, wish(constraint(ConstraintConfig::default())));
    assert!(plan.is_permitted());
    assert_eq!(plan.at_risk, [id]);
    beat_all(&mut cluster, 20, hang);
    assert!(report(&cluster, id).contains("AT_RISK"), "{}", report(&cluster, id));
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

fn change(cluster: &mut Cluster, id: JobId, change: DeadlineChange, user: &str) -> Result<(), String> {
    match cluster.step(Event::SetDeadline { id, change, caller: Caller::named(Arc::from(user)) }).0 {
        Reply::Done => Ok(()),
        Reply::Refused(refusal) => Err(refusal.to_string()),
        other => panic!("{other:?}"),
    }
}

fn after(ms: u64) -> DeadlineChange {
    let due = Due::AfterMs(ms);
    DeadlineChange::Set(NewDeadline { due, map_task_ms: None, reduce_task_ms: None, filter_millionths: None })
}

#[test]
fn a_changed_deadline_is_tested_on_what_is_left_and_one_that_fails_changes_nothing() {
    let mut cluster = cluster(ConstraintConfig::default());
    let id = cluster.submit(due(8, 0, 41_000)).unwrap();
    let other = cluster.submit(due(2, 0, 60_000)).unwrap();
    beat_all(&mut cluster, 6, hang);
    assert_eq!((running(&cluster, id), running(&cluster, other)), ((2, 0), (1, 0)));
    // Its own two slots and the one that is free.
    let before = report(&cluster, id);
    let refusal = change(&mut cluster, id, after(25_000), "alice").unwrap_err();
    assert!(
        refusal.contains("rejected by the constraint scheduler: deadline 25.6 s needs 4 map slots, 3 free"),
        "{refusal}"
    );
    assert_eq!(report(&cluster, id), before);
    change(&mut cluster, id, after(27_000), "alice").unwrap();
    beat_all(&mut cluster, 6, hang);
    assert_eq!(running(&cluster, id), (3, 0));
    // The fluid model promises three slots for eight maps of ten seconds, which take three rounds.
    let said = report(&cluster, id);
    assert!(said.contains("AT_RISK). Maps 3/3 minimum") && said.contains("but its maps, 3 at a time, take "), "{said}");
    let refusal = change(&mut cluster, other, after(10_000), "alice").unwrap_err();
    assert!(refusal.contains("needs 2 map slots, 1 free"), "{refusal}");

    let plan = |cluster: &Cluster| {
        let said = report(cluster, id);
        said.split_once("). ").map(|(_, plan)| plan.split(" Admitted").next().unwrap_or_default().to_owned())
    };
    let before = plan(&cluster);
    cluster.crash(1_000, hang);
    beat_all(&mut cluster, 2, hang);
    assert_eq!(plan(&cluster), before, "after a restart");

    change(&mut cluster, id, DeadlineChange::Clear, "alice").unwrap();
    assert_eq!(plan(&cluster), None);
    cluster.crash(1_000, hang);
    assert_eq!(plan(&cluster), None, "after a restart");
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    let refusal = change(&mut cluster, id, after(60_000), "alice").unwrap_err();
    assert_eq!(refusal, format!("{id} has ended"));
}

/// Else a job would be held past the test, and others would pay for what it was promised.
#[test]
fn a_held_job_is_released_only_where_its_deadline_can_be_kept_beside_those_promised_since() {
    let mut cluster = cluster(ConstraintConfig::default());
    let held = cluster.submit(due(8, 0, 21_000)).unwrap();
    let pause = |cluster: &mut Cluster, is_on: bool| {
        let caller = Caller::named("alice");
        match cluster.step(Event::Pause { target: PauseTarget::Job(held), is_on, caller }).0 {
            Reply::Done => Ok(()),
            Reply::Refused(refusal) => Err(refusal.to_string()),
            other => panic!("{other:?}"),
        }
    };
    pause(&mut cluster, true).unwrap();
    pause(&mut cluster, false).unwrap();
    pause(&mut cluster, true).unwrap();
    let other = cluster.submit(due(8, 0, 21_000)).unwrap();
    let refusal = pause(&mut cluster, false).unwrap_err();
    assert!(refusal.contains("slots, 0 free") && refusal.contains("jobtracker job deadline"), "{refusal}");
    cluster.step(Event::KillJob { id: other, caller: Caller::named("alice") });
    beat_all(&mut cluster, 4, hang);
    change(&mut cluster, held, after(60_000), "alice").unwrap();
    pause(&mut cluster, false).unwrap();
}

#[test]
fn a_deadline_is_changed_by_those_who_may_under_the_scheduler_that_keeps_it() {
    let mut cluster = cluster(ConstraintConfig::default());
    cluster.engine.config.acls_enabled = true;
    cluster.engine.config.queues[0].administer_acl = " ".into();
    let id = cluster.submit(due(2, 0, 60_000)).unwrap();
    let refusal = change(&mut cluster, id, after(30_000), "bob").unwrap_err();
    assert_eq!(refusal, format!("User bob cannot perform operation SET_DEADLINE on {id} that is in the queue default"));
    let refusal = change(&mut cluster, id, after(30_000), "").unwrap_err();
    assert!(refusal.contains("cannot perform operation SET_DEADLINE"), "the nameless: {refusal}");
    change(&mut cluster, id, after(30_000), "alice").unwrap();
    let unknown: JobId = "job_202001010000_0007".parse().unwrap();
    assert_eq!(change(&mut cluster, unknown, after(1), "alice").unwrap_err(), format!("there is no job {unknown}"));
    let past = DeadlineChange::Set(NewDeadline {
        due: Due::AtMs(1),
        map_task_ms: None,
        reduce_task_ms: None,
        filter_millionths: None,
    });
    assert!(change(&mut cluster, id, past, "alice").unwrap_err().ends_with("deadline lies in the past"));
    done(&mut cluster, wish(fifo()));
    let refusal = change(&mut cluster, id, after(30_000), "alice").unwrap_err();
    assert_eq!(refusal, "deadlines are kept under the constraint scheduler only");
}

#[test]
fn a_question_is_answered_as_a_submission_would_be() {
    let mut cluster = cluster(ConstraintConfig::default());
    cluster.submit(due(8, 0, 41_000)).unwrap();
    for (maps, deadline_ms) in [(2, 5_000), (8, 30_000), (8, 41_000), (1, 100), (0, 1_000)] {
        let spec = due(maps, 0, deadline_ms);
        let question = DeadlineQuestion {
            deadline: spec.deadline.clone().unwrap(),
            input: InputVolume::in_equal_splits(0, maps),
            are_maps_known: true,
            reduces: 0,
            class: None,
        };
        let answer = cluster.engine.what_if(&question, cluster.now).unwrap();
        let submitted = cluster.submit(spec).map_err(|refusal| refusal.to_string());
        assert_eq!(answer.schedulable, submitted.is_ok(), "{answer:?} {submitted:?}");
        match submitted {
            Ok(id) => drop(cluster.run(id, |_| Fate::Succeed)),
            Err(text) => assert!(text.ends_with(&answer.reason.unwrap()), "{text}"),
        }
    }
}

#[test]
fn explain_says_what_a_deadline_holds_back() {
    let mut cluster = cluster(ConstraintConfig::default());
    let id = cluster.submit(JobSpec { slowstart_millionths: 0, ..due(4, 2, 40_000) }).unwrap();
    beat_all(&mut cluster, 6, hang);
    insta::assert_snapshot!(why(&cluster, id).join("\n"), @"
    its deadline needs 2 map slots at a time, and it holds 2
    its reduces start after its last map, so that they hold no slot that waits
    ");
    // Its setup lasts, and its slots are promised.
    let promised = cluster.submit(due(2, 0, 15_000)).unwrap();
    let bob = cluster.submit(spec("bob", "default", 2, 0)).unwrap();
    beat_all(&mut cluster, 6, |task| if task.id.task.job == promised { Fate::Hang } else { hang(task) });
    assert_eq!((running(&cluster, bob), running(&cluster, promised)), ((0, 0), (0, 0)));
    insta::assert_snapshot!(why(&cluster, bob).join("\n"), @"
    the free map slots are promised to jobs with deadlines
    1 other job stands before it in line for map slots
    ");
}

/// A map of an hour, due in 5 s: the fluid model has slots for it.
#[test]
fn a_task_that_is_longer_than_the_deadline_is_said_to_be_late_by_so_much() {
    let hour = |maps, reduces| {
        let mut spec = due(maps, reduces, 5_000);
        spec.deadline.as_mut().unwrap().map = Some(StatedCost::TaskMs(3_600_000));
        spec
    };
    let mut cluster = cluster(ConstraintConfig::default());
    let id = cluster.submit(hour(2, 0)).unwrap();
    let said = report(&cluster, id);
    assert!(said.starts_with("Deadline 5.0 s (left 5.0 s, AT_RISK). Maps 0/2 minimum"), "{said}");
    let reason = "Admitted by the fluid model, but a map alone takes 3600.0 s: it will be late by about 3595.0 s.";
    assert!(said.ends_with(reason), "{said}");
    beat_all(&mut cluster, 6, hang);
    assert_eq!(running(&cluster, id).0, 2);
    assert!(report(&cluster, id).contains("AT_RISK"), "{}", report(&cluster, id));
    let question = DeadlineQuestion {
        deadline: hour(2, 0).deadline.unwrap(),
        input: InputVolume::in_equal_splits(0, 2),
        are_maps_known: true,
        reduces: 0,
        class: None,
    };
    let answer = cluster.engine.what_if(&question, cluster.now).unwrap();
    assert_eq!((answer.schedulable, answer.late_by_ms), (true, Some(3_595_000)));
    let in_time = DeadlineQuestion {
        deadline: DeadlineSpec { due: Due::AfterMs(3_600_000), ..question.deadline.clone() },
        ..question
    };
    assert_eq!(cluster.engine.what_if(&in_time, cluster.now).unwrap().late_by_ms, None);
}

#[test]
fn a_job_that_ended_after_its_deadline_says_how_late() {
    let mut cluster = cluster(ConstraintConfig::default());
    let (late, good) = (cluster.submit(due(1, 0, 20_000)).unwrap(), cluster.submit(due(1, 0, 90_000)).unwrap());
    beat_all(&mut cluster, 3, hang);
    cluster.pass_ms(30_000);
    for id in [late, good] {
        assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    }
    let said = report(&cluster, late);
    assert!(
        said.starts_with("Deadline 20.0 s (left -1") && said.ends_with(", LATE). Ended after its deadline."),
        "{said}"
    );
    assert_eq!(report(&cluster, good), "NA");
}
