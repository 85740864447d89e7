//! Which answer waits for which fact: the store is a gate that the test opens.

use tokio::io::AsyncReadExt;

use crate::daemon::clients::{IntoCall, market_request, new_job_id, submit};
use crate::daemon::in_process::{DaemonOptions, InProcessDaemon, TIMEOUT, send, with_daemon};
use crate::daemon::scripted_tracker::ScriptedTracker;

use jobtracker::ipc::RpcLimits;
use jobtracker::ipc::client::IpcClient;
use jobtracker::model::{AttemptState, JobId, RunState};
use jobtracker::web::Owner as _;
use jobtracker::wire::Action;
use jobtracker::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use jobtracker::wire::protocol::{
    Call, CallOutcome, InterTrackerCall, JobSubmissionCall, Protocol, ReturnType, Value, decode_response, encode_call,
    response_id,
};

/// A map-only job of one map that is accepted, everything durable.
async fn submitted(rig: &InProcessDaemon) -> (IpcClient, JobId) {
    let mut client = rig.client("alice").await;
    let id = new_job_id(&mut client).await;
    let directory = rig.stage("alice", id, &[("mapred.map.tasks", "1"), ("mapred.reduce.tasks", "0")], 1);
    let asking = rig.ask(client, submit(id, directory)).await;
    let (client, _) = rig.pass(asking).await;
    (client, id)
}

/// A daemon that holds so many bytes of answers for the store.
fn holding(held_bytes: usize) -> DaemonOptions {
    DaemonOptions { limits: RpcLimits { held_bytes, ..RpcLimits::default() }, ..DaemonOptions::default() }
}

/// A job of so many maps that is accepted, everything durable; and then a launch that is not.
async fn changed(rig: &InProcessDaemon, maps: usize) -> JobId {
    let mut client = rig.client("alice").await;
    let id = new_job_id(&mut client).await;
    let count = maps.to_string();
    let directory = rig.stage("alice", id, &[("mapred.map.tasks", &count), ("mapred.reduce.tasks", "0")], maps);
    let asking = rig.ask(client, submit(id, directory)).await;
    rig.pass(asking).await;
    let launching = rig.ask(rig.tracker_client().await, ScriptedTracker::new().heartbeat()).await;
    assert!(!launching.is_answered());
    id
}

/// The same with its setup launched and everything durable.
async fn set_up(rig: &InProcessDaemon) -> (IpcClient, JobId, IpcClient, ScriptedTracker) {
    let (client, id) = submitted(rig).await;
    let mut tracker = ScriptedTracker::new();
    let asking = rig.ask(rig.tracker_client().await, tracker.heartbeat()).await;
    let (line, value) = rig.pass(asking).await;
    let response = tracker.obey(value);
    assert!(launches(&response.actions) == 1, "{response:?}");
    rig.all_durable().await;
    (client, id, line, tracker)
}

/// The same with its one map running and everything durable.
async fn map_running(rig: &InProcessDaemon) -> (IpcClient, JobId, IpcClient, ScriptedTracker) {
    let (client, id, mut line, mut tracker) = set_up(rig).await;
    tracker.all_are(AttemptState::Succeeded);
    for _ in 0..2 {
        let asking = rig.ask(line, tracker.heartbeat()).await;
        let value;
        (line, value) = rig.pass(asking).await;
        tracker.obey(value);
        if !tracker.fake.attempts.is_empty() {
            break;
        }
    }
    assert_eq!(tracker.fake.attempts.len(), 1, "the map was launched");
    tracker.all_are(AttemptState::Running);
    rig.all_durable().await;
    (client, id, line, tracker)
}

fn launches(actions: &[Action]) -> usize {
    actions.iter().filter(|action| matches!(action, Action::LaunchTask(_))).count()
}

fn status_of(id: JobId) -> jobtracker::wire::protocol::Call {
    JobSubmissionCall::GetJobStatus { job: Some(id) }.into_call()
}

fn run_state(value: &Value) -> RunState {
    match value {
        Value::JobStatus(Some(status)) => status.run_state,
        other => panic!("{other:?}"),
    }
}

#[test]
fn submit_job_waits_and_nobody_sees_the_job_before() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let directory = rig.stage("alice", id, &[("mapred.map.tasks", "1")], 1);
        let submitting = rig.ask(client, submit(id, directory)).await;
        // Its files are read and written by other threads; until the job is in, there is none.
        let seeing = loop {
            let watching = rig.ask(rig.client("alice").await, status_of(id)).await;
            if !watching.is_answered() {
                break watching;
            }
            assert_eq!(watching.answer().await, Value::JobStatus(None), "seen before it was durable");
        };
        assert!(!submitting.is_answered());
        let (_, seen) = rig.pass(seeing).await;
        assert_eq!(run_state(&seen), RunState::Prep);
        let (_, accepted) = rig.pass(submitting).await;
        assert_eq!(run_state(&accepted), RunState::Prep);
    });
}

#[test]
fn a_heartbeat_without_news_or_orders_does_not_wait() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        // The daemon's own start is a fact that the gate holds back.
        let mut tracker = ScriptedTracker::new();
        let mut line = rig.tracker_client().await;
        for id in 0..3 {
            let value = rig.at_once(&mut line, tracker.heartbeat()).await;
            assert_eq!(tracker.obey(value).response_id, id);
        }
    });
}

#[test]
fn a_launch_waits() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        submitted(&rig).await;
        let mut tracker = ScriptedTracker::new();
        let (_, value) = rig.held(rig.tracker_client().await, tracker.heartbeat()).await;
        assert_eq!(launches(&tracker.obey(value).actions), 1);
    });
}

#[test]
fn a_report_of_progress_does_not_wait() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let (_, _, mut line, mut tracker) = set_up(&rig).await;
        tracker.all_are(AttemptState::Running);
        for _ in 0..3 {
            let value = rig.at_once(&mut line, tracker.heartbeat()).await;
            tracker.obey(value);
        }
    });
}

#[test]
fn a_terminal_report_waits_and_so_does_who_would_see_what_it_changed() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let (mut client, id, line, mut tracker) = set_up(&rig).await;
        let before = rig.at_once(&mut client, status_of(id)).await;
        assert_eq!(run_state(&before), RunState::Prep);
        tracker.all_are(AttemptState::Succeeded);
        // No work is wanted, so that the answer carries none: what it waits for is the report.
        tracker.accepts_tasks = false;
        let beating = rig.ask(line, tracker.heartbeat()).await;
        let asking = rig.ask(client, status_of(id)).await;
        let events = InterTrackerCall::GetTaskCompletionEvents { job: Some(id), from: 0, max: 500 };
        let (_, events) = rig.held(rig.tracker_client().await, events.into_call()).await;
        assert!(matches!(events, Value::CompletionEvents(events) if events.len() == 1));
        let (_, value) = rig.pass(beating).await;
        assert_eq!(launches(&tracker.obey(value).actions), 0);
        let (_, after) = rig.pass(asking).await;
        assert_eq!(run_state(&after), RunState::Running);
    });
}

#[test]
fn a_failure_that_waits_for_its_cleanup_waits_too() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let (_, _, line, mut tracker) = map_running(&rig).await;
        tracker.all_are(AttemptState::FailedUnclean);
        tracker.accepts_tasks = false;
        rig.held(line, tracker.heartbeat()).await;
    });
}

#[test]
fn diagnostics_wait() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let (_, _, line, mut tracker) = map_running(&rig).await;
        tracker.accepts_tasks = false;
        tracker.fake.attempts[0].plan.diagnostics = "disk on fire".into();
        rig.held(line, tracker.heartbeat()).await;
    });
}

#[test]
fn leave_to_commit_waits() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let (_, _, line, mut tracker) = map_running(&rig).await;
        tracker.accepts_tasks = false;
        tracker.all_are(AttemptState::CommitPending);
        let (mut line, value) = rig.held(line, tracker.heartbeat()).await;
        let response = tracker.obey(value);
        assert!(matches!(response.actions[..], [Action::CommitTask(_)]), "{response:?}");
        // Said once more, it is durable already.
        let value = rig.at_once(&mut line, tracker.heartbeat()).await;
        assert!(matches!(tracker.obey(value).actions[..], [Action::CommitTask(_)]));
    });
}

#[test]
fn an_answer_that_was_held_is_given_to_who_asks_again() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        submitted(&rig).await;
        let mut tracker = ScriptedTracker::new();
        let first = rig.ask(rig.tracker_client().await, tracker.heartbeat()).await;
        // Meanwhile idle trackers are answered.
        let mut other = ScriptedTracker::new();
        other.fake.name = "tracker_n9:localhost/127.0.0.1:9999".into();
        other.accepts_tasks = false;
        let mut line = rig.tracker_client().await;
        let value = rig.at_once(&mut line, other.heartbeat()).await;
        assert_eq!(launches(&other.obey(value).actions), 0);
        let (_, value) = rig.pass(first).await;
        assert_eq!(launches(&tracker.obey(value).actions), 1);
    });
}

#[test]
fn kills_and_priorities_wait() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let (client, id) = submitted(&rig).await;
        let priority = JobSubmissionCall::SetJobPriority { job: Some(id), priority: Some("HIGH".to_owned()) };
        let (client, _) = rig.held(client, priority.into_call()).await;
        let (mut client, _) = rig.held(client, JobSubmissionCall::KillJob { job: Some(id) }.into_call()).await;
        // What is unknown changes nothing, so there is nothing to wait for.
        let unknown = JobId::new(id.identifier, 999);
        rig.at_once(&mut client, JobSubmissionCall::KillJob { job: Some(unknown) }.into_call()).await;
        assert_eq!(rig.at_once(&mut client, status_of(unknown)).await, Value::JobStatus(None));
    });
}

#[test]
fn changes_of_the_market_wait_and_so_does_who_would_see_them() {
    let wanted = DaemonOptions { acl: Some("root admin k\n"), budgets: "alice 10 1\n", ..DaemonOptions::default() };
    with_daemon(wanted, async |rig: InProcessDaemon| {
        rig.all_durable().await;
        for (step, change) in
            ["addBudget=5&queue=alice", "setSpending=2&queue=alice", "addQueue=bob"].iter().enumerate()
        {
            let handle = rig.handle.clone();
            let request = market_request(change, step as i64);
            let changing = tokio::task::spawn_local(async move { handle.market(request).await });
            rig.settle().await;
            assert!(!changing.is_finished(), "{change}");
            rig.all_durable().await;
            changing.await.unwrap().unwrap().unwrap();
        }
        let price = rig.handle.market(market_request("price", 100)).await.unwrap();
        assert!(price.is_ok(), "{price:?}");
    });
}

#[test]
fn a_store_that_fails_holds_answers_and_refuses_new_jobs() {
    use jobtracker::store::Health;
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let (mut client, _, line, mut tracker) = map_running(&rig).await;
        assert!(rig.handle.health().is_ready, "{:?}", rig.handle.health());
        tracker.all_are(AttemptState::Succeeded);
        let beating = rig.ask(line, tracker.heartbeat()).await;
        rig.gate.set_health(Health::Failing { since_ms: 1, tries: 2, text: "disk full".to_owned() });
        rig.settle().await;
        let health = rig.handle.health();
        assert!(health.is_alive && !health.is_ready && health.text.contains("disk full"), "{health:?}");
        let id = new_job_id(&mut client).await;
        let directory = rig.stage("alice", id, &[("mapred.map.tasks", "1")], 1);
        let refused = client.call(&submit(id, directory.clone())).await.unwrap_err();
        assert!(refused.to_string().contains("disk full"), "{refused}");
        assert!(!beating.is_answered(), "held, not failed");
        // The disk has room again.
        rig.gate.set_health(Health::Good);
        let (_, value) = rig.pass(beating).await;
        tracker.obey(value);
        let asking = rig.ask(client, submit(id, directory)).await;
        rig.pass(asking).await;
    });
}

/// Before, each answer was made at once and kept, whatever it took: twelve of more than half a megabyte each here.
#[test]
fn long_answers_that_wait_for_the_store_take_bounded_room() {
    const ROOM_BYTES: usize = 1 << 20;
    with_daemon(holding(ROOM_BYTES), async |rig: InProcessDaemon| {
        let id = changed(&rig, 4_000).await;
        let mut asking = Vec::new();
        for _ in 0..12 {
            let reports = JobSubmissionCall::GetMapTaskReports { job: Some(id) };
            asking.push(rig.ask(rig.client("alice").await, reports.into_call()).await);
        }
        // Much more than it takes to make them all.
        for _ in 0..10 {
            rig.settle().await;
        }
        assert!(asking.iter().all(|asking| !asking.is_answered()));
        assert_eq!(rig.owner.answer_memory().taken_bytes(), ROOM_BYTES);
        assert!(rig.owner.held() <= 3, "the launch, and the one answer that there is room for");
        for asking in asking {
            let (_, value) = rig.pass(asking).await;
            let Value::TaskReports(reports) = value else { panic!("{value:?}") };
            assert!(reports.len() == 4_000 && (0..).zip(&reports).all(|(number, report)| report.task.number == number));
        }
        assert_eq!(rig.owner.answer_memory().taken_bytes(), 0);
    });
}

/// There is room for four answers; further queries are repeated when the store has caught up, with what has happened
/// since.
#[test]
fn questions_wait_where_there_is_no_room_for_answers() {
    const ROOM_BYTES: usize = 4 << 10;
    with_daemon(holding(ROOM_BYTES), async |rig: InProcessDaemon| {
        let id = changed(&rig, 1).await;
        let mut asking = Vec::new();
        for _ in 0..30 {
            asking.push(rig.ask(rig.client("alice").await, status_of(id)).await);
        }
        assert!(asking.iter().all(|asking| !asking.is_answered()));
        assert_eq!(
            (rig.owner.answer_memory().taken_bytes(), rig.owner.held()),
            (ROOM_BYTES, 31),
            "the launch is held too"
        );
        // The job changes on and on: each is answered all the same, and nothing is shown before it is durable.
        for asking in asking {
            let priority = JobSubmissionCall::SetJobPriority { job: Some(id), priority: Some("HIGH".to_owned()) };
            let changing = rig.ask(rig.client("alice").await, priority.into_call()).await;
            let (_, value) = rig.pass(asking).await;
            assert_eq!(run_state(&value), RunState::Prep);
            rig.pass(changing).await;
        }
    });
}

/// The long answer leaves in parts; what else is answered on the connection meanwhile comes before or behind all of it.
#[test]
fn an_answer_in_parts_is_not_cut_by_others() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let id = changed(&rig, 8_000).await;
        rig.gate.open();
        let user = ConnectionUser { effective: "alice".to_owned(), real: None };
        let mut bytes = Vec::new();
        let protocol = Protocol::JobSubmission.class_name().into();
        encode_opening(&mut bytes, &ConnectionHeader { protocol, user: Some(user) });
        for call in 0..20 {
            let asked = match call % 7 {
                3 => JobSubmissionCall::GetMapTaskReports { job: Some(id) },
                _ => JobSubmissionCall::GetJobStatus { job: Some(id) },
            };
            encode_call(&mut bytes, call, &Call::JobSubmission(asked));
        }
        let mut stream = rig.connect().await;
        send(&mut stream, &bytes).await;
        let (mut unread, mut answered) = (Vec::new(), Vec::new());
        while answered.len() < 20 {
            let mut some = vec![0; 64 << 10];
            let count = tokio::time::timeout(TIMEOUT, stream.read(&mut some)).await.unwrap().unwrap();
            assert!(count > 0, "closed");
            unread.extend_from_slice(&some[..count]);
            // Decoding what is not whole is slow.
            while let Some(call) = response_id(&unread).filter(|call| call % 7 != 3 || unread.len() > 1 << 20) {
                let returns = if call % 7 == 3 { ReturnType::TaskReports } else { ReturnType::JobStatus };
                let Some((response, used)) = decode_response(returns, &unread).unwrap() else { break };
                unread.drain(..used);
                match response.outcome {
                    CallOutcome::Value(Value::TaskReports(reports)) => assert_eq!(reports.len(), 8_000),
                    CallOutcome::Value(Value::JobStatus(Some(status))) => assert_eq!(status.id, id),
                    other => panic!("{other:?}"),
                }
                answered.push(call);
            }
        }
        answered.sort_unstable();
        assert_eq!(answered, (0..20).collect::<Vec<_>>());
    });
}
