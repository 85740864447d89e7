//! A bug that one sender's requests set off: the daemon dies twice of it, then refuses that sender and serves the others.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use crate::daemon::child::{ChildDaemon, DaemonFolders};

use jobtracker::fake_tracker::FakeTracker;
use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::model::PerKind;
use jobtracker::wire::protocol::{Call, InterTrackerCall, JobSubmissionCall, Protocol, Value};

use super::BUDGETS;

fn heartbeat(name: &str) -> Call {
    let request = FakeTracker::<()>::new(name, "localhost", PerKind::new(2, 2)).request(Vec::new());
    Call::InterTracker(InterTrackerCall::Heartbeat { request: Box::new(request) })
}

async fn call(rpc: SocketAddr, protocol: Protocol, call: Call) -> Result<Value, IpcError> {
    IpcClient::connect(rpc, protocol, "alice").await?.call(&call).await
}

async fn beat(serving: &ChildDaemon, name: &str) -> Result<Value, IpcError> {
    call(serving.rpc(), Protocol::InterTracker, heartbeat(name)).await
}

async fn new_job_id(serving: &ChildDaemon, user: &str) -> Result<Value, IpcError> {
    let mut client = IpcClient::connect(serving.rpc(), Protocol::JobSubmission, user).await?;
    client.call(&Call::JobSubmission(JobSubmissionCall::GetNewJobId)).await
}

/// The daemon dies of this step, which `step` causes; its log.
async fn dies(place: &DaemonFolders, step: impl AsyncFn(&ChildDaemon) -> Result<Value, IpcError>) -> String {
    let serving = place.start();
    let answer = step(&serving).await;
    assert!(answer.is_err(), "{answer:?}");
    let (status, log) = serving.end();
    assert_eq!(status.signal(), Some(rustix::process::Signal::ABORT.as_raw()), "{log}");
    log
}

fn place(step: &'static str) -> DaemonFolders {
    let mut place = DaemonFolders::new(BUDGETS);
    place.environment.push(("JOBTRACKER_PANIC_STEP", step));
    place
}

fn only_file(place: &DaemonFolders) -> PathBuf {
    let names = place.names("state/quarantine");
    assert_eq!(names.len(), 1, "{names:?}");
    place.path("state/quarantine").join(&names[0])
}

/// Waits until the daemon is healthy again.
fn wait_until_ok(serving: &ChildDaemon) {
    serving.log.wait_for("accepted again: ");
    assert_eq!(serving.get("/readyz", "").body.trim(), crate::NO_WORKER);
}

#[tokio::test]
async fn a_tracker_that_stops_the_daemon_twice_is_disallowed_until_its_file_is_removed() {
    let mut place = place("heartbeat of TaskTracker tracker_bad");
    let log = dies(&place, async |serving| beat(serving, "tracker_bad").await).await;
    assert!(log.contains("heartbeat of TaskTracker tracker_bad of host localhost, noted in "), "{log}");
    let log = dies(&place, async |serving| beat(serving, "tracker_bad").await).await;
    assert!(log.contains("refused from now on"), "{log}");
    let file = only_file(&place);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((&record["times"], &record["method"]), (&2.into(), &"heartbeat".into()));
    assert!(record["frame"].as_str().is_some_and(|frame| frame.len() > 100), "{record}");

    let serving = place.start();
    match beat(&serving, "tracker_bad").await {
        Err(IpcError::Remote { exception, .. }) => {
            assert_eq!(exception.class, "org.apache.hadoop.mapred.DisallowedTaskTrackerException");
            assert!(exception.message.contains("by removing quarantine/heartbeat-"), "{exception}");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(beat(&serving, "tracker_good").await, Ok(Value::Heartbeat(_) | Value::EncodedHeartbeat(_))));
    assert!(new_job_id(&serving, "alice").await.is_ok());
    let ready = serving.get("/readyz", "");
    assert_eq!(ready.status, 200);
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(
        ready.body.contains("ok, but refused because they stopped the daemon") && ready.body.contains(name),
        "{ready:?}"
    );
    serving.terminate();
    let (_, log) = serving.end();
    assert_eq!(log.matches("the JobTracker refuses this request").count(), 1, "{log}");

    // Fixed: without the bug, removing the file is enough.
    place.environment.clear();
    let serving = place.start();
    assert!(beat(&serving, "tracker_bad").await.is_err());
    std::fs::remove_file(&file).unwrap();
    wait_until_ok(&serving);
    assert!(beat(&serving, "tracker_bad").await.is_ok());
}

#[tokio::test]
async fn a_call_that_stops_the_daemon_twice_gets_an_error_and_other_users_are_served() {
    let place = place("getNewJobId of user alice");
    for _ in 0..2 {
        dies(&place, async |serving| new_job_id(serving, "alice").await).await;
    }
    let serving = place.start();
    match new_job_id(&serving, "alice").await {
        Err(IpcError::Remote { exception, .. }) => {
            assert!(exception.message.contains("a bug in it stopped"), "{exception}");
        }
        other => panic!("{other:?}"),
    }
    assert!(new_job_id(&serving, "bob").await.is_ok());
    assert!(beat(&serving, "tracker_good").await.is_ok());
}

#[tokio::test]
async fn a_request_to_the_scheduler_that_stops_the_daemon_twice_gets_503() {
    let place = place("/scheduler (price");
    for _ in 0..2 {
        let serving = place.start();
        assert!(serving.try_get("/scheduler?price", "").is_err());
        let (status, log) = serving.end();
        assert_eq!(status.signal(), Some(rustix::process::Signal::ABORT.as_raw()), "{log}");
    }
    let serving = place.start();
    let refused = serving.get("/scheduler?price", "");
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("by removing quarantine/scheduler-"), "{refused:?}");
    assert_eq!(serving.get("/scheduler?time", "").status, 200);
}
