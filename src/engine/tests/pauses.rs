//! Held jobs and paused queues: what runs there ends, nothing starts under any scheduler, and what waits is no want.

use std::sync::Arc;

use crate::api::PendingReason;
use crate::engine::{Caller, Effect, Event, FairConfig, PauseTarget, PolicyConfig, Refusal, Reply};
use crate::fake_tracker::Role;
use crate::market::{Answer, MarketError};
use crate::model::{Decimal, JobId, RunState};
use crate::scheduler::capacity::{CapacityConfig, WrittenConfig, WrittenQueue};
use crate::scheduler::fair::allocation_file::AllocationFile;

use super::cluster::{Cluster, FakeTask, Fate, dynamic, fifo, spec};
use super::market::market_under;
use super::policies::{capacity, fair};

const ROOT: &str = "root";
const STRANGER: &str = "mallory";

fn policies() -> Vec<PolicyConfig> {
    vec![fifo(), capacity(), fair(), PolicyConfig::Constraint(Default::default()), dynamic()]
}

/// Two trackers; alice's queue has money where the market rules.
fn cluster(policy: PolicyConfig) -> Cluster {
    let mut cluster = match policy {
        PolicyConfig::Dynamic { .. } => market_under(policy, &[("alice", "1000", "1")]),
        policy => Cluster::new(policy),
    };
    cluster.add_tracker("h0", 2, 1);
    cluster.add_tracker("h1", 2, 1);
    cluster.pass_ms(1_000);
    cluster
}

/// The queue of alice's jobs.
fn queue(cluster: &Cluster) -> &'static str {
    if cluster.config.policy.is_market() { "alice" } else { "default" }
}

fn submit(cluster: &mut Cluster, maps: u32, reduces: u32) -> JobId {
    cluster.pass_ms(1);
    let (spec, signature) = (spec("alice", queue(cluster), maps, reduces), cluster.signature("alice"));
    cluster.submit_signed(spec, signature).unwrap()
}

fn pause(cluster: &mut Cluster, target: PauseTarget, is_on: bool, user: &str) -> Result<(), Refusal> {
    match cluster.step(Event::Pause { target, is_on, caller: Caller::named(user) }) {
        (Reply::Done, wait_for) => {
            assert_eq!(wait_for.0, cluster.facts.len() as u64, "it is durable before it is confirmed");
            Ok(())
        }
        (Reply::Refused(refusal), _) => Err(refusal),
        other => panic!("{other:?}"),
    }
}

fn hold(cluster: &mut Cluster, job: JobId, is_on: bool) {
    pause(cluster, PauseTarget::Job(job), is_on, "alice").unwrap();
}

fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }
}

fn rounds(cluster: &mut Cluster, times: usize, fate: impl Fn(&FakeTask) -> Fate) {
    for _ in 0..times {
        cluster.pass_ms(1_000);
        cluster.timer();
        (0..cluster.trackers.len()).for_each(|index| drop(cluster.beat(index, &fate)));
    }
    cluster.engine.check_whole_state();
    assert!(cluster.engine.outbox.violations.is_empty(), "{:?}", cluster.engine.outbox.violations.take());
}

fn at_work(cluster: &Cluster) -> usize {
    cluster.trackers.iter().map(|tracker| tracker.attempts.len()).sum()
}

fn why(cluster: &Cluster, job: JobId) -> Vec<PendingReason> {
    cluster.engine.explain(job, true, cluster.now).value.unwrap().finish().why
}

fn waiting_maps(cluster: &Cluster) -> u64 {
    cluster.engine.build_snapshot(cluster.now).value.waiting.map
}

#[test]
fn a_held_job_starts_nothing_before_and_after_its_setup_nor_after_a_restart() {
    for policy in policies() {
        let name = format!("{policy:?}");
        let mut cluster = cluster(policy);
        let job = submit(&mut cluster, 6, 1);
        hold(&mut cluster, job, true);
        let since_ms = cluster.now.wall_ms;
        let held = || vec![PendingReason::Held { by: "alice".into(), since_ms }];
        rounds(&mut cluster, 4, hang);
        assert_eq!((at_work(&cluster), why(&cluster, job)), (0, held()), "{name}: no setup is launched");
        let text = cluster.engine.job_status(job).value.unwrap().scheduling_info.0;
        assert!(text.starts_with("held by alice since 20"), "{name}: {text}");
        hold(&mut cluster, job, false);
        rounds(&mut cluster, 6, hang);
        assert_eq!(at_work(&cluster), 4, "{name}");
        hold(&mut cluster, job, true);
        assert_eq!(waiting_maps(&cluster), 0, "{name}: what waits is no want");
        rounds(&mut cluster, 4, |_| Fate::Succeed);
        let finished = |cluster: &Cluster| cluster.engine.jobs.get(job).unwrap().finished().map;
        assert_eq!((finished(&cluster), at_work(&cluster)), (4, 0), "{name}: what ran has ended, and nothing follows");
        cluster.crash(1_000, hang);
        rounds(&mut cluster, 4, |_| Fate::Succeed);
        assert_eq!((finished(&cluster), at_work(&cluster)), (4, 0), "{name}: the hold is a fact");
        assert!(matches!(why(&cluster, job)[..], [PendingReason::Held { .. }]), "{name}");
        hold(&mut cluster, job, false);
        rounds(&mut cluster, 10, |_| Fate::Succeed);
        assert_eq!(cluster.state(job), RunState::Succeeded, "{name}");
        assert_eq!(cluster.engine.pauses().count(), 0, "{name}");
    }
}

#[test]
fn a_paused_queue_accepts_jobs_and_starts_nothing_until_it_is_resumed() {
    for policy in policies() {
        let name = format!("{policy:?}");
        let mut cluster = cluster(policy);
        let before = submit(&mut cluster, 6, 0);
        rounds(&mut cluster, 6, hang);
        let target = PauseTarget::Queue(queue(&cluster).into());
        pause(&mut cluster, target.clone(), true, STRANGER).unwrap_err();
        let administrator = cluster.config.daemon_user.to_string();
        pause(&mut cluster, target.clone(), true, &administrator).unwrap();
        let after = submit(&mut cluster, 2, 0);
        rounds(&mut cluster, 6, |_| Fate::Succeed);
        assert_eq!(at_work(&cluster), 0, "{name}");
        assert_eq!(cluster.engine.jobs.get(before).unwrap().finished().map, 4, "{name}");
        let since_ms = match &why(&cluster, after)[..] {
            [PendingReason::QueuePaused { since_ms, .. }] => *since_ms,
            other => panic!("{name}: {other:?}"),
        };
        cluster.crash(1_000, hang);
        rounds(&mut cluster, 3, |_| Fate::Succeed);
        let (queue, by) = (queue(&cluster).to_owned(), administrator.clone());
        assert_eq!(why(&cluster, before), [PendingReason::QueuePaused { queue, by, since_ms }], "{name}");
        assert_eq!(at_work(&cluster), 0, "{name}");
        // A hold of its own outlasts that of the queue.
        hold(&mut cluster, after, true);
        pause(&mut cluster, target, false, &administrator).unwrap();
        rounds(&mut cluster, 10, |_| Fate::Succeed);
        assert_eq!((cluster.state(before), cluster.state(after)), (RunState::Succeeded, RunState::Prep), "{name}");
        hold(&mut cluster, after, false);
        rounds(&mut cluster, 8, |_| Fate::Succeed);
        assert_eq!(cluster.state(after), RunState::Succeeded, "{name}");
    }
}

#[test]
fn a_held_job_takes_no_place_among_running_jobs_and_is_killed_like_any_other() {
    let file = "<allocations><pool name='alice'><maxRunningJobs>1</maxRunningJobs></pool></allocations>";
    let PolicyConfig::Fair(config) = fair() else { panic!() };
    let allocations = Arc::new(AllocationFile::parse(file).unwrap().allocations);
    let queues = vec![WrittenQueue::with_defaults("default", Some(Decimal::whole(100)))];
    let written = WrittenConfig { queues, maximum_system_jobs: 1, ..WrittenConfig::default() };
    let capacity = Arc::new(CapacityConfig::new(&written).unwrap());
    let policies = [
        PolicyConfig::Fair(FairConfig { allocations, ..config }),
        PolicyConfig::Capacity { config: capacity, is_compatible: false },
    ];
    for policy in policies {
        check_places(cluster(policy));
    }
}

/// Under a policy that lets one job begin.
fn check_places(mut cluster: Cluster) {
    let [first, second] = [(); 2].map(|()| submit(&mut cluster, 6, 0));
    rounds(&mut cluster, 4, hang);
    assert_eq!((cluster.state(first), cluster.state(second)), (RunState::Running, RunState::Prep));
    hold(&mut cluster, first, true);
    rounds(&mut cluster, 4, hang);
    assert_eq!(cluster.state(second), RunState::Prep, "what runs keeps its place");
    rounds(&mut cluster, 4, |task| if task.id.task.job == first { Fate::Succeed } else { hang(task) });
    assert_eq!(cluster.state(second), RunState::Running, "the place is its own now");
    let third = submit(&mut cluster, 1, 0);
    hold(&mut cluster, third, true);
    hold(&mut cluster, third, false);
    rounds(&mut cluster, 4, hang);
    assert_eq!(cluster.state(third), RunState::Prep, "and it is the only one");
    cluster.step(Event::KillJob { id: first, caller: Caller::named("alice") });
    rounds(&mut cluster, 4, hang);
    assert_eq!((cluster.state(first), cluster.engine.pauses().count()), (RunState::Killed, 0));
}

#[test]
fn a_job_is_held_by_its_owner_and_administrators_and_a_queue_by_the_latter() {
    let mut cluster = cluster(fifo());
    let job = submit(&mut cluster, 1, 0);
    cluster.effects.clear();
    let refused = |changed: Result<(), Refusal>| changed.unwrap_err().to_string();
    let text = refused(pause(&mut cluster, PauseTarget::Job(job), true, "bob"));
    assert_eq!(text, format!("bob cannot hold or release {job}: its owner alice and administrators can"));
    let administrator = cluster.config.daemon_user.to_string();
    let unknown = PauseTarget::Queue("nowhere".into());
    assert!(refused(pause(&mut cluster, unknown, true, &administrator)).contains("\"nowhere\" does not exist"));
    for is_on in [true, true, false] {
        pause(&mut cluster, PauseTarget::Job(job), is_on, &administrator).unwrap();
    }
    let audited = |effect: &Effect| match effect {
        Effect::Audit(entry) => Some(entry.to_string()),
        _ => None,
    };
    let of = |verb: &str, user: &str| format!("{verb} user={user} job={job} owner=alice");
    assert_eq!(
        cluster.effects.iter().filter_map(audited).collect::<Vec<_>>(),
        [
            of("denied hold", "bob"),
            of("hold", &administrator),
            of("hold", &administrator),
            of("release", &administrator)
        ]
    );
    cluster.run(job, |_| Fate::Succeed);
    assert!(refused(pause(&mut cluster, PauseTarget::Job(job), true, "alice")).contains("has ended"));
}

#[test]
fn the_market_lets_administrators_alone_pause_a_queue_by_a_signed_request() {
    let mut cluster = cluster(dynamic());
    let ask = |cluster: &mut Cluster, user: &str, is_admin: bool| {
        cluster.pass_ms(1);
        let query = format!("pauseQueue=alice&user={user}&timestamp={}", cluster.now.wall_ms);
        cluster.ask(crate::market::ParsedQuery::parse(&query).unwrap(), is_admin)
    };
    assert!(matches!(ask(&mut cluster, "alice", false), Err(MarketError::Denied { .. })));
    assert_eq!(cluster.engine.pauses().count(), 0);
    let paused = Answer::QueuePaused { queue: "alice".into(), is_paused: true };
    assert_eq!(ask(&mut cluster, ROOT, true), Ok(paused));
    assert_eq!(cluster.engine.pauses().count(), 1);
}
