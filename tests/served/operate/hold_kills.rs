//! What a client that lost its connection says by reflex, and what somebody means.

use std::net::SocketAddr;

use crate::daemon::child::{ChildDaemon, DaemonFolders};
use crate::operate::BUDGETS;

use jobtracker::ipc::client::{ClientLimits, IpcClient};
use jobtracker::model::{JobId, RunState};
use jobtracker::wire::Credentials;
use jobtracker::wire::file::{SplitMeta, write_split_meta};
use jobtracker::wire::protocol::{Call, JobSubmissionCall, Protocol, Value};

const HOUR: &str = "jobtracker.restart.hold-client-kills-ms=3600000";

/// A daemon under FIFO with a fixed RPC port, and a job of alice that was accepted before its last start.
struct Restarted {
    place: DaemonFolders,
    rpc: SocketAddr,
    job: JobId,
    serving: ChildDaemon,
}

impl Restarted {
    async fn new(overrides: &[&str]) -> Self {
        // Free, most likely, also for the second start.
        let rpc = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut place = DaemonFolders::new(BUDGETS);
        place.overrides.extend([
            format!("mapred.job.tracker={rpc}"),
            "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned(),
        ]);
        place.overrides.extend(overrides.iter().map(|text| (*text).to_owned()));
        let serving = place.start();
        let job = submit(rpc).await;
        serving.kill();
        let serving = place.start();
        Self { place, rpc, job, serving }
    }

    /// On a new connection, as its first call or after the version is asked for.
    async fn kill(&self, user: &str, is_first: bool) {
        let call = Call::JobSubmission(JobSubmissionCall::KillJob { job: Some(self.job) });
        let mut client = match is_first {
            true => IpcClient::open(self.rpc, Protocol::JobSubmission, user, ClientLimits::default()).await.unwrap(),
            false => IpcClient::connect(self.rpc, Protocol::JobSubmission, user).await.unwrap(),
        };
        assert_eq!(client.call(&call).await.unwrap(), Value::Void);
    }

    /// Once what the daemon writes for its user is settled.
    async fn wait_until_killed(&self) {
        while self.state().await != RunState::Killed {}
    }

    async fn state(&self) -> RunState {
        let mut client = IpcClient::connect(self.rpc, Protocol::JobSubmission, "bob").await.unwrap();
        let call = Call::JobSubmission(JobSubmissionCall::GetJobStatus { job: Some(self.job) });
        match client.call(&call).await.unwrap() {
            Value::JobStatus(Some(status)) => status.run_state,
            other => panic!("{other:?}"),
        }
    }
}

/// A job of alice that no tracker runs.
async fn submit(rpc: SocketAddr) -> JobId {
    let mut client = IpcClient::connect(rpc, Protocol::JobSubmission, "alice").await.unwrap();
    let mut ask = async |call| client.call(&Call::JobSubmission(call)).await.unwrap();
    let Value::JobId(id) = ask(JobSubmissionCall::GetNewJobId).await else { panic!("no job id") };
    let Value::String(Some(staging)) = ask(JobSubmissionCall::GetStagingAreaDir).await else { panic!("no staging") };
    let directory = format!("{staging}/{id}");
    let folder = std::path::Path::new(directory.strip_prefix("file:").unwrap());
    std::fs::create_dir_all(folder).unwrap();
    let properties = "<property><name>mapred.map.tasks</name><value>1</value></property>";
    std::fs::write(folder.join("job.xml"), format!("<configuration>{properties}</configuration>")).unwrap();
    let meta = SplitMeta { locations: Vec::new(), offset_bytes: 7, length_bytes: 100 };
    std::fs::write(folder.join("job.splitmetainfo"), write_split_meta(&[meta])).unwrap();
    let call = JobSubmissionCall::SubmitJob {
        job: Some(id),
        directory: Some(directory),
        credentials: Some(Credentials::default()),
    };
    assert!(matches!(ask(call).await, Value::JobStatus(Some(_))));
    id
}

#[tokio::test]
async fn the_reflex_of_a_cut_off_client_is_held_back_and_a_wish_is_not() {
    let restarted = Restarted::new(&[HOUR]).await;
    restarted.kill("alice", true).await;
    restarted.kill("alice", true).await;
    let said = restarted.serving.log.wait_for("its user alice sent it as the first call of a new connection");
    assert!(said.contains("hold-client-kills-ms"), "{said}");
    assert_eq!(restarted.state().await, RunState::Prep);
    restarted.kill("alice", false).await;
    restarted.wait_until_killed().await;
    drop(restarted.place);
}

#[tokio::test]
async fn another_users_kill_is_a_wish() {
    let restarted = Restarted::new(&[HOUR]).await;
    restarted.kill("bob", true).await;
    restarted.wait_until_killed().await;
}

#[tokio::test]
async fn by_default_nothing_is_held_back() {
    let restarted = Restarted::new(&[]).await;
    restarted.kill("alice", true).await;
    restarted.wait_until_killed().await;
}
