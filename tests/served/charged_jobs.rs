//! Jobs that hold slots for ever, so that each tick charges their queues, whatever becomes of the daemon.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::daemon::child::ChildDaemon;
use crate::staging::{JobFiles, signed, write};
use crate::steady_tracker::{Ending, Slots, SteadyTracker};

use jobtracker::clock::wall_ms;
use jobtracker::fs::{FileSystems, FileUri};
use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::market::Key;
use jobtracker::wire::Credentials;
use jobtracker::wire::protocol::{Call, InterTrackerCall, JobSubmissionCall, Protocol, Value};

const MAPS: usize = 2;
const BEAT_PAUSE: Duration = Duration::from_millis(100);

/// The jobs of alice and bob, and the tracker that runs them. Dropping it ends the tracker.
pub struct ChargedJobs {
    rpc: Arc<Mutex<SocketAddr>>,
    is_over: Arc<AtomicBool>,
    tracker: Option<JoinHandle<()>>,
}

// === impl ChargedJobs ===

impl ChargedJobs {
    /// Submits them.
    pub fn begin(serving: &ChildDaemon) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for user in ["alice", "bob"] {
            runtime.block_on(submit(serving.rpc(), user));
        }
        let (rpc, is_over) = (Arc::new(Mutex::new(serving.rpc())), Arc::new(AtomicBool::new(false)));
        let (address, ends) = (rpc.clone(), is_over.clone());
        let tracker = std::thread::spawn(move || {
            let mut tracker = SteadyTracker::new(1, Slots::new(2 * MAPS as u32, 1), Ending::Never);
            while !ends.load(Ordering::Relaxed) {
                // What was not answered is sent again as it was.
                let request = Box::new(tracker.heartbeat());
                let call = Call::InterTracker(InterTrackerCall::Heartbeat { request });
                let answer = loop {
                    let asked = *address.lock().unwrap();
                    match runtime.block_on(ask(asked, &call)) {
                        Ok(Value::Heartbeat(answer)) => break answer,
                        _ if ends.load(Ordering::Relaxed) => return,
                        _ => std::thread::park_timeout(BEAT_PAUSE),
                    }
                };
                tracker.obey(&answer);
                std::thread::park_timeout(BEAT_PAUSE);
            }
        });
        Self { rpc, is_over, tracker: Some(tracker) }
    }

    /// The daemon was started again.
    pub fn follow(&self, serving: &ChildDaemon) {
        *self.rpc.lock().unwrap() = serving.rpc();
    }
}

impl Drop for ChargedJobs {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(tracker) = self.tracker.take() {
            let _ = tracker.join();
        }
    }
}

async fn ask(rpc: SocketAddr, call: &Call) -> Result<Value, IpcError> {
    IpcClient::connect(rpc, Protocol::InterTracker, "mapred").await?.call(call).await
}

async fn submit(rpc: SocketAddr, user: &str) {
    let mut client = IpcClient::connect(rpc, Protocol::JobSubmission, user).await.unwrap();
    let mut ask = async |call: JobSubmissionCall| client.call(&Call::JobSubmission(call)).await.unwrap();
    let Value::JobId(id) = ask(JobSubmissionCall::GetNewJobId).await else { panic!("no id") };
    let Value::String(Some(staging)) = ask(JobSubmissionCall::GetStagingAreaDir).await else { panic!("no staging") };
    let directory = FileUri::parse(&staging).unwrap().join(&id.to_string()).unwrap();
    let properties = signed(user, &Key::new(&format!("{user}key")), &wall_ms().to_string());
    let files = JobFiles { splits: vec![Vec::new(); MAPS], reduces: 0, properties };
    write(&FileSystems::with_defaults(user), &directory, id, &files).unwrap();
    let credentials = Some(Credentials::default());
    let submitted =
        ask(JobSubmissionCall::SubmitJob { job: Some(id), directory: Some(directory.to_string()), credentials }).await;
    assert!(matches!(submitted, Value::JobStatus(Some(_))), "{submitted:?}");
}
