//! What callers may make the engine keep, do and say: names, reports, slots.

use std::sync::Arc;

use crate::engine::{Caller, Effect, Event, Fact, Refusal, Reply};
use crate::mapreduce::{JobFact, JobSpec, SplitTable};
use crate::market::JobSignature;
use crate::model::{AttemptState, EndNotification, FactNumber, Kind, PerKind, RunState};
use crate::wire::{Action, HeartbeatRequest, HeartbeatResponse, TaskStatus};

use super::cluster::{Cluster, Fate, fifo, spec};

/// The lines that were logged since they were last looked at.
fn lines(cluster: &mut Cluster) -> Vec<String> {
    let effects = std::mem::take(&mut cluster.effects);
    effects
        .into_iter()
        .filter_map(|effect| if let Effect::Log { text, .. } = effect { Some(text) } else { None })
        .collect()
}

fn killed(response: &HeartbeatResponse) -> usize {
    response.actions.iter().filter(|action| matches!(action, Action::KillTask(_) | Action::KillJob(_))).count()
}

#[test]
fn trackers_with_names_that_none_has_are_disallowed_and_nothing_is_kept_of_them() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let good = cluster.request(0);
    let bad = ["", "two words", "line\nbreak", "n\u{e4}me", "\u{202e}eman", &"x".repeat(256), &"x".repeat(10 << 20)];
    for bad in bad {
        let named = |name: &str, host: &str| {
            let mut request = good.clone();
            (request.status.name, request.status.host) = (name.into(), host.into());
            request
        };
        for request in [named(bad, "h0"), named("tracker_h0", bad)] {
            match cluster.step(Event::Heartbeat { request, connection: 1, address: None }).0 {
                Reply::Refused(Refusal::DisallowedTracker(text)) => {
                    assert!(text.len() < 400 && text.contains("255") && !text.contains('\n'), "{text}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!((cluster.engine.trackers.len(), cluster.engine.cluster.scheduler.topology().len()), (0, 0));
    let logged = lines(&mut cluster);
    assert!(logged.len() == 2 * bad.len() && logged.iter().all(|line| line.len() < 500), "{logged:?}");
    let longest = "x".repeat(255);
    for name in ["tracker_n1.example:localhost/127.0.0.1:40235", "tracker_h:streaming_only/10.0.0.1:9", &longest] {
        let mut request = good.clone();
        request.status.name = name.into();
        assert!(
            matches!(cluster.step(Event::Heartbeat { request, connection: 1, address: None }).0, Reply::Heartbeat(_)),
            "{name}"
        );
    }
}

/// A heartbeat that reports so many attempts that were never launched, of a known job or of unknown ones.
fn with_unknown_attempts(
    cluster: &mut Cluster,
    count: i32,
    of_job: impl Fn(i32) -> crate::model::TaskId,
) -> HeartbeatRequest {
    let mut request = cluster.request(0);
    let running = request.status.tasks.first().cloned().unwrap();
    let unknown =
        |number| TaskStatus { attempt: of_job(number).attempt(0), state: AttemptState::Running, ..running.clone() };
    request.status.tasks.extend((0..count).map(unknown));
    request
}

#[test]
fn unknown_attempts_are_answered_in_bounds_and_logged_in_one_line() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 4, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    cluster.beat(0, |_| Fate::Hang);
    lines(&mut cluster);
    // Twice its five slots, and a hundred.
    let request = with_unknown_attempts(&mut cluster, 20_000, |number| id.task(Kind::Map, 10 + number));
    let (response, _) = cluster.send(0, request);
    assert_eq!(killed(&response), 110);
    assert_eq!(cluster.engine.trackers.iter().next().unwrap().unknown_attempts.len(), 110);
    let text = "ordered to drop attempt_202611210913_0001_m_000010_0, no attempt that this JobTracker has launched; and 109 \
                more; 19890 more exceed what it can run and are ignored";
    let logged = lines(&mut cluster);
    assert!(logged.len() == 1 && logged[0].ends_with(text), "{logged:?}");
    // Of a job each, too.
    let request = with_unknown_attempts(&mut cluster, 20_000, |number| {
        format!("task_1_{:04}_m_000000", number + 1).parse().unwrap()
    });
    let (response, _) = cluster.send(0, request);
    assert!(killed(&response) <= 220, "{}", killed(&response));
    assert!(lines(&mut cluster).len() <= 1);
    // What they left does not stay in the way of real ones.
    let (response, _) = cluster.beat(0, |_| Fate::Hang);
    assert_eq!(killed(&response), 0);
    assert_eq!(cluster.engine.trackers.iter().next().unwrap().unknown_attempts.len(), 0);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn repeated_reports_of_one_attempt_in_a_heartbeat_count_once() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 4, 1);
    let id = cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    cluster.beat(0, |_| Fate::Hang);
    cluster.beat(0, |_| Fate::Hang);
    let mut request = cluster.request(0);
    request.status.tasks[0].diagnostics = "x".repeat(1_000).as_str().into();
    let report = request.status.tasks[0].clone();
    request.status.tasks.extend(std::iter::repeat_n(report, 10_000));
    let before = cluster.facts.len();
    cluster.send(0, request);
    let said = cluster.facts[before..].iter().filter(|fact| matches!(fact, Fact::Job(JobFact::AttemptReported { .. })));
    assert_eq!(said.count(), 1);
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn slots_that_no_machine_has_are_clamped_and_what_they_summed_up_to_is_gone_with_them() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("honest", 4, 2);
    cluster.beat(0, |_| Fate::Hang);
    let honest = cluster.engine.cluster.scheduler.totals();
    lines(&mut cluster);
    // In 32 bits their sum would not fit.
    cluster.engine.config.limits.max_tracker_slots = u32::MAX;
    for index in 1..=5 {
        cluster.add_tracker(&format!("h{index}"), i32::MAX as u32, i32::MAX as u32);
        cluster.beat(index, |_| Fate::Hang);
    }
    assert_eq!(cluster.engine.cluster.scheduler.totals().slots.map, 4 + 5 * u64::from(i32::MAX.unsigned_abs()));
    cluster.engine.config.limits.max_tracker_slots = 1_000;
    for _ in 0..3 {
        (1..=5).for_each(|index| drop(cluster.beat(index, |_| Fate::Hang)));
    }
    assert_eq!(cluster.engine.cluster.scheduler.totals().slots, PerKind::new(4 + 5_000, 2 + 5_000));
    let warnings: Vec<_> =
        lines(&mut cluster).into_iter().filter(|line| line.contains("jobtracker.tracker.max-slots")).collect();
    assert_eq!(warnings.len(), 5, "one for each, however often it calls: {warnings:?}");
    assert!(warnings[0].contains("claims 2147483647 map slots and 2147483647 reduce slots"), "{}", warnings[0]);
    for index in 1..=5 {
        cluster.trackers[index].slots = PerKind::new(0, 0);
        cluster.beat(index, |_| Fate::Hang);
    }
    let totals = cluster.engine.cluster.scheduler.totals();
    assert_eq!((totals.slots, totals), (honest.slots, cluster.engine.cluster.scheduler.recount()));
}

#[test]
fn texts_of_a_job_are_cut_or_refused_by_name() {
    let mut cluster = Cluster::new(fifo());
    let named = JobSpec { name: "\u{e4}".repeat(5 << 20), ..spec("alice", "default", 1, 0) };
    let id = cluster.submit(named).unwrap();
    assert_eq!(cluster.engine.job_profile(id).value.unwrap().name.len(), 4 << 10);
    let url = |url: String| EndNotification { url, retries: 0, retry_interval_ms: 0, timeout_ms: 0 };
    let long = "x".repeat((16 << 10) + 1);
    let just = "x".repeat(16 << 10);
    let of = |view: &str, modify: &str, called: &str| JobSpec {
        view_acl: Some(view.to_owned()),
        modify_acl: Some(modify.to_owned()),
        end_notification: Some(url(called.to_owned())),
        ..spec("alice", "default", 1, 0)
    };
    cluster.submit(of(&just, &just, &just)).expect("it is just what there may be");
    let job_bytes = cluster.engine.jobs.iter().map(|job| job.bytes).sum::<u64>();
    assert!((52 << 10..64 << 10).contains(&job_bytes), "{job_bytes}");
    for (bad, what) in [
        (of(&long, "", ""), "mapreduce.job.acl-view-job"),
        (of("", &long, ""), "mapreduce.job.acl-modify-job"),
        (of("", "", &long), "job.end.notification.url"),
        (JobSpec { submit_dir: "x".repeat(5_000), ..of("", "", "") }, "its staging directory"),
        (JobSpec { queue: "x".repeat(5_000), ..of("", "", "") }, "the name of its queue"),
    ] {
        let text = cluster.submit(bad).unwrap_err().to_string();
        assert!(text.contains(what) && text.contains("the limit is") && text.len() < 300, "{text}");
    }
    let missing = cluster.submit(JobSpec { queue: "q".repeat(1_000), ..of("", "", "") }).unwrap_err().to_string();
    assert!(missing.len() < 200, "{missing}");
}

#[test]
fn memory_of_jobs_is_bounded_for_each_user_and_in_all_and_given_back() {
    let mut cluster = Cluster::new(fifo());
    let heavy = |user: &str| JobSpec { view_acl: Some("x".repeat(16 << 10)), ..spec(user, "default", 1, 0) };
    cluster.engine.config.limits.max_live_bytes = Some(95 << 10);
    let ids: Vec<_> = (0..2).map(|_| cluster.submit(heavy("alice")).expect("34 of 47 KiB")).collect();
    let text = cluster.submit(heavy("alice")).unwrap_err().to_string();
    assert!(
        text.contains("jobs and applications of its user") && text.contains("jobtracker.max-job-bytes is 97280"),
        "{text}"
    );
    for user in ["bob", "bob", "carol"] {
        cluster.submit(heavy(user)).expect("others have room");
    }
    let text = cluster.submit(heavy("dave")).unwrap_err().to_string();
    assert!(text.contains("jobs and applications of all users"), "{text}");
    for id in ids {
        cluster.step(Event::KillJob { id, caller: Caller::named("alice") });
    }
    cluster.submit(heavy("dave")).expect("what was killed is given back");
    cluster.submit(heavy("alice")).expect("to its user, too");
}

#[test]
fn made_up_hosts_of_jobs_go_with_their_jobs() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    cluster.beat(0, |_| Fate::Hang);
    for round in 0..15 {
        let id = cluster.new_job_id("alice");
        let caller = Caller::named("alice");
        cluster.step(Event::SubmissionRequested { id, caller: caller.clone() });
        let mut read = cluster.read_submission(id, spec("alice", "default", 200, 0), JobSignature::Missing);
        let mut splits = SplitTable::builder();
        for map in 0..200 {
            let hosts: Vec<String> = (0..100).map(|host| format!("r{round}m{map}h{host}")).collect();
            splits.push(7, 100, hosts.iter().map(String::as_str));
        }
        read.splits = Arc::new(splits.build(|host| format!("/{host}")));
        cluster.step(Event::SubmissionRead(Box::new(read)));
        cluster.step(Event::SystemDirWritten { id });
        assert_eq!(cluster.engine.cluster.scheduler.topology().len(), 20_001);
        cluster.step(Event::KillJob { id, caller });
        assert_eq!(cluster.engine.cluster.scheduler.topology().len(), 1, "none but that of the tracker");
    }
}

#[test]
fn registering_asks_for_a_rack_once_and_looks_at_no_other_tracker() {
    let mut cluster = Cluster::new(fifo());
    let asked = |cluster: &mut Cluster| {
        let effects = std::mem::take(&mut cluster.effects);
        effects.iter().filter(|effect| matches!(effect, Effect::ResolveRack { .. })).count()
    };
    for index in 0..100 {
        cluster.add_tracker("h0", 1, 1);
        cluster.beat(index, |_| Fate::Hang);
    }
    assert_eq!(asked(&mut cluster), 1);
    cluster.step(Event::RackResolved { host: "h0".into(), rack: "/r1".into() });
    let racks = |cluster: &Cluster| {
        let trackers = cluster.engine.build_snapshot(cluster.now).value.trackers;
        trackers.iter().filter(|tracker| tracker.rack == "/r1").count()
    };
    assert_eq!((racks(&cluster), cluster.engine.cluster.scheduler.topology().len()), (100, 1));
    cluster.add_tracker("h0", 1, 1);
    cluster.beat(100, |_| Fate::Hang);
    assert_eq!((asked(&mut cluster), racks(&cluster)), (0, 101));
    // An answer for a host that is gone leaves nothing.
    cluster.step(Event::RackResolved { host: "elsewhere".into(), rack: "/r9".into() });
    assert_eq!(cluster.engine.cluster.scheduler.topology().len(), 1);
}

#[test]
fn at_the_limit_a_tracker_that_never_ran_anything_gives_way_and_one_that_did_does_not() {
    let mut cluster = Cluster::new(fifo());
    cluster.engine.config.limits.max_trackers = 2;
    for index in 0..3 {
        cluster.add_tracker(&format!("h{index}"), 1, 1);
        let (response, _) = cluster.beat(index, |_| Fate::Hang);
        assert!(response.interval_ms < 10_000, "an operator can add a machine at any time");
    }
    assert_eq!(cluster.engine.trackers.len(), 2);
    let (response, _) = cluster.beat(0, |_| Fate::Hang);
    assert_eq!(response.actions, [Action::ReinitTracker], "the oldest has lost its place");
    cluster.submit(spec("alice", "default", 8, 0)).unwrap();
    for _ in 0..6 {
        [1, 2].into_iter().for_each(|index| drop(cluster.beat(index, |_| Fate::Succeed)));
    }
    cluster.add_tracker("h3", 1, 1);
    let (response, _) = cluster.beat(3, |_| Fate::Hang);
    assert_eq!((response.actions.len(), response.interval_ms >= 10_000), (0, true), "it is not ended, and comes again");
    let (response, _) = cluster.beat(3, |_| Fate::Hang);
    assert_eq!(response.actions, [Action::ReinitTracker]);
    cluster.pass_ms(700_000);
    cluster.timer();
    cluster.beat(3, |_| Fate::Hang);
    assert_eq!(cluster.engine.trackers.len(), 1, "the others were silent for too long");
}

/// Names cost a caller nothing.
#[test]
fn one_connection_speaks_for_a_few_names_that_run_nothing() {
    let mut cluster = Cluster::new(fifo());
    for index in 0..40 {
        cluster.add_tracker(&format!("h{index}"), 1, 1);
        let request = cluster.request(index);
        cluster.step(Event::Heartbeat { request, connection: 7, address: None });
    }
    assert_eq!(cluster.engine.trackers.len(), crate::engine::state::NAMES_OF_CONNECTION);
}

#[test]
fn tasks_of_too_many_finished_jobs_leave_memory_and_answers_about_the_jobs_stay() {
    let mut cluster = Cluster::new(fifo());
    cluster.engine.config.limits.max_finished_tasks = 30;
    cluster.add_tracker("h0", 4, 1);
    let ids: Vec<_> = (0..4)
        .map(|_| {
            let id = cluster.submit(spec("alice", "default", 8, 1)).unwrap();
            assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
            id
        })
        .collect();
    // The last end was received.
    (0..3).for_each(|_| drop(cluster.beat(0, |_| Fate::Hang)));
    let shown = |cluster: &Cluster| {
        let of = |id| (cluster.engine.job_status(id).value, cluster.engine.job_counters(id).value);
        ids.iter().map(|id| of(*id)).collect::<Vec<_>>()
    };
    let before = shown(&cluster);
    let whole = |cluster: &Cluster| ids.iter().map(|id| !cluster.engine.is_in_store_alone(*id)).collect::<Vec<_>>();
    assert_eq!(whole(&cluster), [true; 4]);
    cluster.now.mono_ms = cluster.engine.next_timer_ms().unwrap();
    cluster.step(Event::Timer { durable: FactNumber(0) });
    assert_eq!(whole(&cluster), [true; 4], "their ends are not durable");
    cluster.now.mono_ms = cluster.engine.next_timer_ms().unwrap();
    cluster.timer();
    assert_eq!(whole(&cluster), [false, false, true, true]);
    assert_eq!(shown(&cluster), before);
    assert!(cluster.engine.next_timer_ms().unwrap() > cluster.now.mono_ms + 1_000, "nothing more is due");
}
