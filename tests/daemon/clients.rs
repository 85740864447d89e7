//! Clients that talk to the rig as stock ones do.

use std::path::Path;

use tokio::task::JoinHandle;

use jobtracker::clock::wall_ms;
use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::market::{KeyId, ParsedQuery, Role, ServletRequest, VerifiedUser};
use jobtracker::model::JobId;
use jobtracker::wire::Credentials;
use jobtracker::wire::file::{SplitMeta, write_split_meta};
use jobtracker::wire::protocol::{
    AdminOperationsCall, Call, ContainerBeatCall, InterTrackerCall, JobSubmissionCall, Protocol, Value,
};

use super::in_process::InProcessDaemon;

/// A call under way.
pub struct Asking(JoinHandle<(IpcClient, Result<Value, IpcError>)>);

impl Asking {
    pub fn is_answered(&self) -> bool {
        self.0.is_finished()
    }

    /// The answer of a call that is answered.
    pub async fn answer(self) -> Value {
        self.0.await.unwrap().1.unwrap()
    }
}

impl InProcessDaemon {
    pub async fn client(&self, user: &str) -> IpcClient {
        IpcClient::connect(self.address, Protocol::JobSubmission, user).await.unwrap()
    }

    pub async fn administrator(&self, user: &str) -> IpcClient {
        IpcClient::connect(self.address, Protocol::AdminOperations, user).await.unwrap()
    }

    pub async fn tracker_client(&self) -> IpcClient {
        IpcClient::connect(self.address, Protocol::InterTracker, "mapred").await.unwrap()
    }

    /// Begins a call and gives the daemon every chance to answer it.
    pub async fn ask(&self, mut client: IpcClient, call: impl Into<Call>) -> Asking {
        let call = call.into();
        let asking = Asking(tokio::task::spawn_local(async move {
            let value = client.call(&call).await;
            (client, value)
        }));
        self.settle().await;
        asking
    }

    /// Lets everybody do what they can do now: other clients get answers, several times over.
    pub async fn settle(&self) {
        let mut other = self.client("other").await;
        for _ in 0..20 {
            other.call(&JobSubmissionCall::GetSystemDir.into_call()).await.unwrap();
        }
    }

    /// The answer comes although the store holds everything back.
    pub async fn at_once(&self, client: &mut IpcClient, call: impl Into<Call>) -> Value {
        client.call(&call.into()).await.unwrap()
    }

    /// The answer does not come before its facts are durable, and comes then.
    pub async fn held(&self, client: IpcClient, call: impl Into<Call>) -> (IpcClient, Value) {
        let call = call.into();
        let name = call.method().name;
        let asking = self.ask(client, call).await;
        assert!(!asking.is_answered(), "{name} was answered although its facts are not durable");
        self.pass(asking).await
    }

    /// Lets the facts through, as they come, until the call is answered.
    pub async fn pass(&self, asking: Asking) -> (IpcClient, Value) {
        while !asking.is_answered() {
            self.gate.release_held();
            tokio::task::yield_now().await;
            self.settle().await;
        }
        let (client, value) = asking.0.await.unwrap();
        (client, value.unwrap())
    }

    /// Lets through what waits, so that a test begins with everything durable.
    pub async fn all_durable(&self) {
        self.gate.release_held();
        self.settle().await;
    }

    /// Writes the staging directory of a job.
    pub fn stage(&self, user: &str, id: JobId, properties: &[(&str, &str)], splits: usize) -> String {
        stage(&self.staging_dir(user), id, properties, splits)
    }
}

/// Writes the staging directory of a job below a user's.
pub fn stage(staging: &Path, id: JobId, properties: &[(&str, &str)], splits: usize) -> String {
    let folder = staging.join(id.to_string());
    std::fs::create_dir_all(&folder).unwrap();
    let properties: String = properties
        .iter()
        .map(|(name, value)| format!("<property><name>{name}</name><value>{value}</value></property>"))
        .collect();
    std::fs::write(folder.join("job.xml"), format!("<configuration>{properties}</configuration>")).unwrap();
    let meta = SplitMeta { locations: vec!["n1".into()], offset_bytes: 7, length_bytes: 100 };
    std::fs::write(folder.join("job.splitmetainfo"), write_split_meta(&vec![meta; splits])).unwrap();
    format!("file:{}", folder.display())
}

pub trait IntoCall {
    fn into_call(self) -> Call;
}

impl IntoCall for Call {
    fn into_call(self) -> Call {
        self
    }
}

impl IntoCall for JobSubmissionCall {
    fn into_call(self) -> Call {
        Call::JobSubmission(self)
    }
}

impl IntoCall for InterTrackerCall {
    fn into_call(self) -> Call {
        Call::InterTracker(self)
    }
}

impl IntoCall for ContainerBeatCall {
    fn into_call(self) -> Call {
        Call::ContainerBeats(self)
    }
}

impl IntoCall for AdminOperationsCall {
    fn into_call(self) -> Call {
        Call::AdminOperations(self)
    }
}

pub async fn new_job_id(client: &mut IpcClient) -> JobId {
    match client.call(&JobSubmissionCall::GetNewJobId.into_call()).await.unwrap() {
        Value::JobId(id) => id,
        other => panic!("{other:?}"),
    }
}

/// A signed request to the market; the later ones by a larger offset.
pub fn market_request(query: &str, offset_ms: i64) -> ServletRequest {
    let verified = VerifiedUser { user: "root".to_owned(), role: Role::Admin, key_id: KeyId(1) };
    let query = format!("{query}&user=root&timestamp={}", wall_ms() + 1_000 + offset_ms);
    ServletRequest { verified: Some(verified), query: ParsedQuery::parse(&query).unwrap() }
}

pub fn submit(id: JobId, directory: String) -> Call {
    let credentials = Some(Credentials::default());
    JobSubmissionCall::SubmitJob { job: Some(id), directory: Some(directory), credentials }.into_call()
}
