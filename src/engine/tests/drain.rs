//! Drained workers: no new task, everything else as before.

use crate::api::{PendingReason, WorkerState, WorkerStatus};
use crate::engine::{Caller, Effect, Event, Fact, Refusal, Reply};
use crate::fake_tracker::Role;
use crate::market::{Answer, MarketError};
use crate::model::{JobId, PerKind, RunState};

use super::cluster::{Cluster, FakeTask, Fate, dynamic, fifo, spec};

fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Work { Fate::Hang } else { Fate::Succeed }
}

fn drain(cluster: &mut Cluster, worker: &str, is_on: bool) -> Result<Answer, MarketError> {
    let caller = Caller::named(&*cluster.config.daemon_user.clone());
    match cluster.step(Event::DrainWorker { worker: worker.into(), is_on, caller }) {
        (Reply::Market(answer), wait_for) => {
            assert_eq!(wait_for.0, cluster.facts.len() as u64, "a drain is durable before it is confirmed");
            answer
        }
        other => panic!("{other:?}"),
    }
}

fn worker(cluster: &Cluster, name: &str) -> WorkerStatus {
    let page = cluster.engine.worker_page(None, cluster.now).value.workers;
    page.into_iter().find(|worker| worker.worker == name).unwrap()
}

fn beat_all(cluster: &mut Cluster, times: usize, fate: impl Fn(&FakeTask) -> Fate) {
    for _ in 0..times {
        for index in 0..cluster.trackers.len() {
            cluster.pass_ms(100);
            cluster.beat(index, &fate);
        }
    }
}

/// A job of four maps, two of which run on the first of two trackers with two slots each.
fn two_trackers() -> (Cluster, JobId, String) {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    let job = cluster.submit(spec("u", "default", 4, 0)).unwrap();
    beat_all(&mut cluster, 4, hang);
    assert_eq!(cluster.trackers[0].attempts.len(), 2);
    let name = cluster.trackers[0].name.to_string();
    (cluster, job, name)
}

#[test]
fn a_drained_worker_finishes_its_tasks_and_gets_no_new_ones() {
    let (mut cluster, job, name) = two_trackers();
    let answer = drain(&mut cluster, &name, true).unwrap();
    assert_eq!(answer, Answer::Worker { worker: name.clone(), is_draining: true, used: 2 });
    let totals = cluster.engine.build_snapshot(cluster.now).value;
    assert_eq!(totals.slots, PerKind::default(), "its slots are not offered");
    assert!(totals.trackers[0].is_draining && totals.trackers[0].healthy);
    let status = worker(&cluster, &name);
    assert_eq!(
        (status.state, status.slots, status.used),
        (WorkerState::Draining, PerKind::new(2, 1), PerKind::new(2, 0))
    );
    let why = cluster.engine.explain(job, true, cluster.now).value.unwrap().finish().why;
    assert!(why.contains(&PendingReason::DrainingWorkers { draining: 1, workers: 1 }), "{why:?}");
    // What runs there ends well, and nothing follows it.
    beat_all(&mut cluster, 4, |_| Fate::Succeed);
    assert_eq!(cluster.engine.jobs.get(job).unwrap().finished().map, 2);
    assert_eq!(cluster.trackers[0].attempts.len(), 0);
    assert_eq!(cluster.state(job), RunState::Running);
    assert!(drain(&mut cluster, &name, false).is_ok());
    assert_eq!(cluster.run(job, |_| Fate::Succeed), RunState::Succeeded);
    assert_eq!(worker(&cluster, &name).state, WorkerState::Ok);
}

#[test]
fn a_drain_outlasts_a_restart_and_the_worker_itself() {
    let (mut cluster, job, name) = two_trackers();
    drain(&mut cluster, &name, true).unwrap();
    cluster.crash(1_000, hang);
    assert_eq!(cluster.engine.drained_workers().count(), 1);
    assert_eq!(worker(&cluster, &name).used, PerKind::new(2, 0), "also before it has called again");
    cluster.add_tracker("h1", 2, 1);
    beat_all(&mut cluster, 4, hang);
    assert_eq!(cluster.trackers[0].attempts.len(), 2, "what ran still runs");
    assert_eq!(cluster.trackers[1].attempts.len(), 2, "the rest runs elsewhere");
    beat_all(&mut cluster, 4, |_| Fate::Succeed);
    assert_eq!(cluster.run(job, |_| Fate::Succeed), RunState::Succeeded);
    // Without its tracker it can still be seen and resumed.
    cluster.trackers.remove(0);
    cluster.pass_ms(cluster.config.tracker_expiry_ms * 2);
    beat_all(&mut cluster, 1, hang);
    cluster.timer();
    let absent = worker(&cluster, &name);
    assert_eq!((absent.state, absent.is_draining, absent.tracker), (WorkerState::Absent, true, None));
    drain(&mut cluster, &name, false).unwrap();
    assert!(matches!(drain(&mut cluster, &name, false), Err(MarketError::UnknownWorker(unknown)) if unknown == name));
    cluster.crash(1_000, hang);
    assert_eq!(cluster.engine.drained_workers().count(), 0);
}

#[test]
fn a_worker_with_a_name_is_known_by_it_whatever_its_port() {
    let mut cluster = Cluster::new(fifo());
    for _ in 0..2 {
        cluster.add_tracker("h0", 2, 1);
    }
    for (index, port) in [(0, 50_060), (1, 50_061)] {
        cluster.trackers[index].name = format!("tracker_h0:streaming_only.disk-{index}/127.0.0.1:{port}");
    }
    beat_all(&mut cluster, 1, hang);
    let tracker = cluster.trackers[1].name.to_string();
    // By its tracker's name it is the same worker.
    drain(&mut cluster, &tracker, true).unwrap();
    assert_eq!(cluster.engine.drained_workers().map(|name| &**name).collect::<Vec<_>>(), ["disk-1"]);
    // It comes again on another port.
    cluster.trackers.pop();
    cluster.add_tracker("h0", 2, 1);
    cluster.trackers[1].name = "tracker_h0:streaming_only.disk-1/127.0.0.1:1234".into();
    cluster.trackers[1].connection = 9;
    beat_all(&mut cluster, 1, hang);
    let page = cluster.engine.worker_page(None, cluster.now).value.workers;
    let shown: Vec<_> = page.iter().map(|worker| (worker.worker.as_str(), worker.is_draining)).collect();
    assert_eq!(shown, [("disk-0", false), ("disk-1", true), ("disk-1", true)]);
    let job = cluster.submit(spec("u", "default", 4, 0)).unwrap();
    beat_all(&mut cluster, 4, hang);
    assert_eq!(cluster.trackers[1].attempts.len(), 0);
    assert_eq!(cluster.state(job), RunState::Running);
}

#[test]
fn two_live_workers_of_one_name_are_named() {
    let mut cluster = Cluster::new(fifo());
    for (index, name) in ["w", "w", "x"].into_iter().enumerate() {
        cluster.add_tracker(&format!("h{index}"), 1, 1);
        cluster.trackers[index].name = format!("tracker_h{index}:streaming_only.{name}/127.0.0.1:5006{index}");
    }
    beat_all(&mut cluster, 2, hang);
    let lines = cluster.effects.iter().filter_map(|effect| match effect {
        Effect::Log { text, .. } if text.starts_with("two workers") => Some(text.clone()),
        _ => None,
    });
    let [first, second] = [0, 1].map(|index| cluster.trackers[index].name.clone());
    let expected = format!(
        "two workers are called w: {first} and now {second}; `jobtracker workers drain` and `resume` mean both: give \
         each a --name of its own"
    );
    assert_eq!(lines.collect::<Vec<_>>(), [expected]);
    let complaints = |cluster: &Cluster| -> Vec<String> {
        let page = cluster.engine.worker_page(None, cluster.now).value.workers;
        page.into_iter().map(|worker| worker.complaints).collect()
    };
    let of_both = complaints(&cluster);
    assert!(of_both[0].starts_with("a worker on host h1 has this name, too"), "{of_both:?}");
    assert!(of_both[1].starts_with("a worker on host h0 has this name, too") && of_both[2].is_empty(), "{of_both:?}");
    // One whose connection is gone is none.
    let connection = cluster.trackers[0].connection;
    cluster.step(Event::ConnectionClosed { connection });
    assert_eq!(complaints(&cluster)[1], "");
}

#[test]
fn only_administrators_drain_and_only_what_is_there() {
    let (mut cluster, _, name) = two_trackers();
    let caller = Caller::named("mallory");
    let (reply, _) = cluster.step(Event::DrainWorker { worker: name.clone(), is_on: true, caller });
    assert!(matches!(&reply, Reply::Refused(Refusal::AccessDenied(text)) if text.contains("mallory")), "{reply:?}");
    assert!(!worker(&cluster, &name).is_draining);
    for is_on in [true, false] {
        let refused = drain(&mut cluster, "nowhere", is_on).unwrap_err();
        assert_eq!(refused.to_string(), "there is no worker nowhere; expected a name of `jobtracker workers list`");
    }
    let facts = cluster.facts.len();
    // Twice changes nothing.
    drain(&mut cluster, &name, true).unwrap();
    let drained = cluster.facts.len();
    assert!(drained > facts);
    let last = cluster.facts.last();
    assert!(matches!(last, Some(Fact::Decided(decision)) if decision.kind() == "drained"), "{last:?}");
    drain(&mut cluster, &name, true).unwrap();
    assert_eq!(cluster.facts.len(), drained);
    drain(&mut cluster, &name, false).unwrap();
    assert!(drain(&mut cluster, &name, false).is_ok(), "who is not drained is resumed already");
}

#[test]
fn signed_drains_need_the_role_of_an_administrator() {
    let mut cluster = Cluster::with_market(dynamic());
    cluster.add_tracker("h0", 2, 1);
    cluster.beat(0, hang);
    let name = cluster.trackers[0].name.to_string();
    cluster.pass_ms(1);
    let query = |cluster: &Cluster, user: &str, worker: &str| {
        let worker = worker.replace(':', "%3A").replace('/', "%2F");
        let query = format!("drain={worker}&user={user}&timestamp={}", cluster.now.wall_ms);
        crate::market::ParsedQuery::parse(&query).unwrap()
    };
    let asked = query(&cluster, "alice", &name);
    assert!(matches!(cluster.ask(asked, false), Err(MarketError::Denied { .. })));
    cluster.pass_ms(1);
    let asked = query(&cluster, "root", "nowhere");
    assert!(matches!(cluster.ask(asked, true), Err(MarketError::UnknownWorker(_))));
    cluster.pass_ms(1);
    let asked = query(&cluster, "root", &name);
    assert_eq!(cluster.ask(asked, true), Ok(Answer::Worker { worker: name.clone(), is_draining: true, used: 0 }));
    let status = worker(&cluster, &name);
    assert_eq!((status.drained_by.as_deref(), status.state), (Some("root"), WorkerState::Draining));
}

#[test]
fn what_was_launched_just_before_counts_as_in_use() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 2, 1);
    cluster.beat(0, hang);
    cluster.submit(spec("u", "default", 4, 0)).unwrap();
    // The setup is on its way.
    cluster.pass_ms(100);
    cluster.beat(0, hang);
    let name = cluster.trackers[0].name.to_string();
    let Ok(Answer::Worker { used, .. }) = drain(&mut cluster, &name, true) else { panic!() };
    assert_eq!(used, 1);
}

#[test]
fn many_workers_come_in_pages() {
    let mut cluster = Cluster::new(fifo());
    for host in 0..70 {
        cluster.add_tracker(&format!("h{host}"), 1, 1);
    }
    beat_all(&mut cluster, 1, hang);
    let name = cluster.trackers[0].name.to_string();
    drain(&mut cluster, &name, true).unwrap();
    let first = cluster.engine.worker_page(None, cluster.now).value;
    assert_eq!(first.workers.len(), 64);
    let second = cluster.engine.worker_page(first.next.as_deref(), cluster.now).value;
    assert_eq!((second.workers.len(), second.next), (6, None));
}
