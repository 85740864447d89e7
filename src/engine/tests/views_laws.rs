//! Laws: what the views make of facts is what the engine shows, and the same at each fact as what a load makes of the rows.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::engine::{Caller, Event, Fact, PauseTarget, PolicyConfig, VolatileDelta, VolatileWalk, Watched};
use crate::mapreduce::{JobSpec, TaskKey};
use crate::model::{AttemptState, FactNumber, Kind, PerKind, RunState};
use crate::scheduler::constraint::ConstraintConfig;
use crate::store::{FactBatch, LoadedState, loaded_after};
use crate::views::{ListedState, ReadModel, Views, overview_after};
use crate::wire::TipStatus;

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};
use super::market::{market, seeded};
use super::restart_laws::{faulty, operations, play};
use super::scheduler_report::{fair, two_queues};

fn fed(facts: &[Fact]) -> ReadModel {
    let mut model = ReadModel::load(&LoadedState::default(), 1_000);
    model.apply(&FactBatch { first: FactNumber(1), facts: facts.to_vec() }).unwrap();
    model
}

/// Each job that the engine knows, as it shows it.
pub(crate) fn assert_as_shown(cluster: &Cluster, views: &Views) {
    for shown in cluster.engine.build_snapshot(cluster.now).value.jobs {
        let job = views.job(shown.id).unwrap();
        let counts = job.counts();
        assert_eq!((job.state(), job.finish_ms()), (shown.state, shown.finish_ms), "{}", shown.id);
        assert_eq!(PerKind::new(counts.map.live_attempts, counts.reduce.live_attempts), shown.running, "{}", shown.id);
        // A restart has forgotten how far a job came that had failed or was killed before.
        if !matches!(shown.state, RunState::Failed | RunState::Killed) {
            assert_eq!(PerKind::new(counts.map.finished, counts.reduce.finished), shown.finished, "{}", shown.id);
        }
        let failure_info = cluster.engine.jobs.get(shown.id).unwrap().failure_info();
        assert_eq!((job.failure_info(), job.priority()), (failure_info, shown.priority), "{}", shown.id);
        assert_eq!((&job.spec().queue, job.submit_ms()), (&shown.queue, shown.submit_ms), "{}", shown.id);
    }
    assert!(views.jobs().count() >= cluster.engine.jobs.all().len());
}

/// Each task of a job that is not over is listed as its report to clients says.
fn assert_listed(cluster: &Cluster, views: &Views) {
    for job in cluster.engine.jobs.iter().filter(|job| job.has_begun() && !job.is_over()) {
        let view = views.job(job.id).unwrap();
        for kind in Kind::ALL {
            let total = job.total()[kind];
            let mut work: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
            for task in 0..total + 2 {
                let id = job.id.task(kind, i32::try_from(task).unwrap());
                let key = job.key_of(id).unwrap();
                let expected = match job.tip_status(key) {
                    TipStatus::Pending => ListedState::Pending,
                    TipStatus::Running(_) => ListedState::Running,
                    TipStatus::Complete(_) => ListedState::Complete,
                    TipStatus::Killed | TipStatus::Failed => ListedState::Killed,
                };
                assert_eq!(view.listed_state(kind, task), expected, "{id}");
                assert_eq!(view.task_end_ms(kind, task) > 0, job.task_end_ms(key) > 0, "{id} {expected:?}");
                if task < total {
                    work.entry(name_of(expected)).or_default().push(task);
                }
            }
            for state in [ListedState::Pending, ListedState::Running, ListedState::Complete, ListedState::Killed] {
                let expected = work.remove(name_of(state)).unwrap_or_default();
                let count = u32::try_from(expected.len()).unwrap();
                assert_eq!(view.tasks_listed(kind, state, 0, 10_000), (expected.clone(), count), "{}", job.id);
                let page: Vec<u32> = expected.into_iter().skip(1).take(2).collect();
                assert_eq!(view.tasks_listed(kind, state, 1, 2), (page, count), "{}", job.id);
            }
            let ended = |state| {
                let work = (0..total).flat_map(|task| &job.task(TaskKey::Work(kind, task)).attempts);
                u32::try_from(work.filter(|attempt| attempt.state == state).count()).unwrap()
            };
            let counts = view.counts()[kind];
            let expected = (ended(AttemptState::Failed), ended(AttemptState::Killed));
            assert_eq!((counts.failed_attempts, counts.killed_attempts), expected, "{} {kind:?}", job.id);
        }
    }
}

fn name_of(state: ListedState) -> &'static str {
    match state {
        ListedState::Pending => "pending",
        ListedState::Running => "running",
        ListedState::Complete => "complete",
        ListedState::Killed => "killed",
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn views_are_what_the_engine_shows_and_what_a_load_makes(
        operations in operations(true),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 4),
    ) {
        let cluster = play(&operations, true, faulty);
        for cut in cuts {
            let facts = &cluster.facts[..cut.index(cluster.facts.len())];
            let loaded = ReadModel::load(&loaded_after(facts), 1_000);
            prop_assert_eq!(fed(facts).views().as_loaded(), loaded.views().as_loaded());
        }
        assert_as_shown(&cluster, fed(&cluster.facts).views());
        assert_listed(&cluster, fed(&cluster.facts).views());
    }
}

fn walked(cluster: &Cluster, walk: &mut VolatileWalk) -> VolatileDelta {
    let mut slices = std::iter::repeat_with(|| cluster.engine.walk_volatile(walk, true, cluster.now));
    slices.find_map(|delta| delta).unwrap()
}

/// Pages show what a snapshot of the engine shows.
#[track_caller]
fn assert_overview(cluster: &Cluster, deltas: &[VolatileDelta]) {
    let mut model = fed(&cluster.facts);
    cluster.engine.jobs.iter().filter(|job| job.is_over()).for_each(|job| model.report_end(job.id));
    let shown = overview_after(model.views(), deltas.iter().cloned());
    let expected = cluster.engine.build_snapshot(cluster.now).value;
    assert_eq!(format!("{shown:#?}"), format!("{expected:#?}"));
}

/// Half of the tasks run on, the others end.
fn half(task: &FakeTask) -> Fate {
    if task.id.task.number % 2 == 0 { Fate::Succeed } else { Fate::Hang }
}

fn beats(cluster: &mut Cluster) {
    for _ in 0..5 {
        cluster.pass_ms(1_000);
        cluster.timer();
        (0..cluster.trackers.len()).for_each(|index| drop(cluster.beat(index, half)));
    }
}

fn submit_both(cluster: &mut Cluster) {
    for (user, queue) in [("alice", "alice"), ("bob", "bob"), ("alice", "default"), ("bob", "research")] {
        cluster.pass_ms(1);
        let signature = cluster.signature(user);
        // Where there is no such queue there is no such job.
        let _ = cluster.submit_signed(spec(user, queue, 9, 2), signature);
    }
}

#[test]
fn pages_show_what_the_engine_would() {
    let policies: [fn() -> PolicyConfig; 4] = [
        fifo,
        two_queues,
        || fair("<pool name=\"alice\"><minMaps>1</minMaps></pool>"),
        || PolicyConfig::Constraint(ConstraintConfig::default()),
    ];
    let lines = [("alice", "100", "0.5"), ("bob", "100", "1")];
    let clusters = policies.map(|policy| Cluster::new(policy()));
    let idle_market = seeded(Cluster::with_market(fifo()), &lines);
    for mut cluster in clusters.into_iter().chain([market(&lines), idle_market]) {
        for host in ["h0", "h1", "h2"] {
            cluster.add_tracker(host, 2, 1);
        }
        let mut walk = VolatileWalk::default();
        let mut deltas = vec![walked(&cluster, &mut walk)];
        assert_overview(&cluster, &deltas);
        submit_both(&mut cluster);
        beats(&mut cluster);
        deltas.push(walked(&cluster, &mut walk));
        assert_overview(&cluster, &deltas);
        let held = cluster.engine.jobs.iter().find(|job| !job.is_over()).map(|job| job.id);
        if let Some(job) = held {
            let (target, caller) = (PauseTarget::Job(job), Caller::named("root"));
            cluster.step(Event::Pause { target, is_on: true, caller });
        }
        cluster.restart(1);
        beats(&mut cluster);
        cluster.pass_ms(300);
        deltas.push(walked(&cluster, &mut walk));
        assert_overview(&cluster, &deltas);
    }
}

/// A job that no worker can run says so on the pages until a worker comes that can, unless it is held or ends.
#[test]
fn pages_say_what_no_worker_can_run() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    cluster.trackers[0].name = "tracker_h0:streaming_only/127.0.0.1:50060".to_owned();
    cluster.beat(0, half);
    let java = |maps| JobSpec { only_stock: Some("it needs Java".to_owned()), ..spec("alice", "default", maps, 0) };
    let [first, second] = [1, 2].map(|maps| cluster.submit(java(maps)).unwrap());
    cluster.beat(0, half);
    let (mut walk, mut deltas) = (VolatileWalk::default(), Vec::new());
    let mut shown = |cluster: &Cluster| {
        deltas.push(walked(cluster, &mut walk));
        assert_overview(cluster, &deltas);
        let snapshot = cluster.engine.build_snapshot(cluster.now).value;
        let texts =
            [second, first].map(|id| snapshot.jobs.iter().find(|job| job.id == id).unwrap().failure_info.clone());
        (snapshot.stuck.iter().map(|stuck| stuck.holder.job().unwrap()).collect::<Vec<_>>(), texts)
    };
    let sentence = "the only connected worker cannot run it: it needs Java".to_owned();
    assert_eq!(shown(&cluster), (vec![second, first], [sentence.clone(), sentence.clone()]));
    let pause = |is_on| Event::Pause { target: PauseTarget::Job(first), is_on, caller: Caller::named("alice") };
    cluster.step(pause(true));
    let (stuck, [of_second, of_first]) = shown(&cluster);
    assert_eq!((stuck, of_second), (vec![second], sentence));
    assert!(of_first.starts_with("held by alice since "), "{of_first}");
    cluster.step(pause(false));
    let stock = cluster.add_tracker("stock", 2, 1);
    cluster.beat(stock, half);
    assert_eq!(shown(&cluster), (Vec::new(), [String::new(), String::new()]));
}

#[test]
fn a_delta_says_only_what_has_changed() {
    let mut cluster = market(&[("alice", "100", "0.5"), ("bob", "100", "1")]);
    for host in 0..600 {
        cluster.add_tracker(&format!("h{host}"), 2, 1);
    }
    (0..600).for_each(|index| drop(cluster.beat(index, half)));
    let mut walk = VolatileWalk::default();
    let first = walked(&cluster, &mut walk);
    assert_eq!((first.trackers.len(), first.beats.len(), first.queues.set.len()), (600, 600, 2));
    cluster.pass_ms(10);
    cluster.beat(7, half);
    let second = walked(&cluster, &mut walk);
    assert_eq!((second.trackers.len(), second.beats.len(), second.queues.set.len()), (0, 1, 0));
    assert_eq!((second.queues.len, second.groups.set.len(), second.balances.set.len()), (2, 0, 0));
}

/// Of a job that is looked at a delta has what runs and what it counts; of a task, each attempt.
#[test]
fn what_runs_of_a_job_is_said_while_somebody_looks_at_it() {
    let mut cluster = Cluster::new(fifo());
    for host in 0..600 {
        cluster.add_tracker(&format!("h{host}"), 2, 1);
    }
    let job = cluster.submit(spec("alice", "default", 1_301, 0)).unwrap();
    let unknown = format!("{job}9").parse().unwrap();
    for _ in 0..5 {
        cluster.pass_ms(1_000);
        (0..600).for_each(|index| drop(cluster.beat(index, half)));
    }
    let mut walk = VolatileWalk::default();
    let task = job.task(Kind::Map, 0);
    walk.say(Vec::new(), vec![Watched::Job(job), Watched::Job(unknown), Watched::Task(task)]);
    let said = walked(&cluster, &mut walk).watched;
    let [(Watched::Task(_), Some(of_task)), (_, None), (Watched::Job(_), Some(of_job))] = said.as_slice() else {
        panic!("{said:?}")
    };
    assert_eq!(of_task.attempts.iter().map(|attempt| attempt.id).collect::<Vec<_>>(), [task.attempt(0)]);
    let running = of_job.attempts.iter().filter(|attempt| !attempt.state.is_over()).count();
    let known = cluster.engine.jobs.get(job).unwrap();
    assert_eq!((running, running > 500), (known.running().map as usize, true), "in several slices");
    assert!(of_job.has_begun && !of_job.counters.groups.is_empty());
    assert_eq!(walked(&cluster, &mut walk).watched.len(), 0, "once for each look");
}
