//! submitJob in two phases: the files are read and typed here, judged by the engine, and only then is anything written.
//! Whatever refuses the job, nothing of it stays.

mod accounts;
mod error;
mod leftovers;
mod predecessors;
mod read;
mod spec;
mod staging;
mod system_dir;

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::{Semaphore, watch};

use crate::config::Settings;
use crate::engine::{Event, FactNumber, IdOwner, ReadSubmission, Reply, SubmissionReply};
use crate::fs::FileUri;
use crate::store::{FaultPoint, FinishedJobReader, Health};
use crate::wire::JobId;

use super::acl_file::AclFile;
use super::dispatch::{answer_of, id_owner};
use super::owner::Owner;
use super::rpc::{Answer, RemoteError, Ticket};
use super::topology::Topology;

pub use error::SubmissionError;
pub use leftovers::Leftovers;
pub use predecessors::SystemDirAtStart;
pub use read::Asked;
pub use system_dir::make_system_dir;

use read::{ReadFiles, Reading};
use staging::StagingRoot;

/// Submissions whose files are read or written at one time.
const AT_ONE_TIME: usize = 16;
/// Submissions of which more than the call is in memory; further ones wait.
const IN_HAND: usize = 32;

/// Takes submissions through their phases.
pub struct Submissions {
    owner: Rc<Owner>,
    topology: Rc<Topology>,
    reading: Reading,
    system: FileUri,
    staging: StagingRoot,
    turns: Semaphore,
    /// Knows the ids that were given out before a restart.
    store: OnceCell<FinishedJobReader>,
    /// Nothing of before the restart is removed from the system directory any more.
    is_settled: watch::Sender<bool>,
    in_hand: Semaphore,
}

// === impl Submissions ===

impl Submissions {
    /// Submissions by these settings. `acl`: who may sign, where the scheduler asks for signatures.
    pub fn new(owner: Rc<Owner>, topology: Rc<Topology>, settings: &Settings, acl: Option<Arc<AclFile>>) -> Rc<Self> {
        let staging = StagingRoot::new(settings);
        Rc::new(Self {
            owner,
            topology,
            reading: Reading::new(settings, acl, staging.clone()),
            system: settings.directories.system.clone(),
            staging,
            turns: Semaphore::new(AT_ONE_TIME),
            store: OnceCell::new(),
            is_settled: watch::Sender::new(true),
            in_hand: Semaphore::new(IN_HAND),
        })
    }

    /// From now on ids of before a restart are known by `store`.
    pub fn find_ids_by(&self, store: FinishedJobReader) {
        // There is one database, so whoever was told first is right.
        let _ = self.store.set(store);
    }

    /// The files of jobs of before the restart will be put in order.
    pub fn expect_leftovers(&self) {
        self.is_settled.send_replace(false);
    }

    /// Answers a submitJob, when the job is durable or refused.
    pub async fn submit(self: Rc<Self>, asked: Asked, ticket: Ticket) {
        let mut stamped = FactNumber::default();
        let (answer, wait_for) = match self.take_in(asked, id_owner(&ticket), &mut stamped).await {
            Ok((reply, wait_for)) => (answer_of(reply), wait_for),
            Err(error) => (Answer::Error(error), stamped),
        };
        self.owner.answer(ticket, answer, wait_for);
    }

    /// `stamped` is the fact that a failure from there on has to wait for: a used signature.
    async fn take_in(
        &self,
        asked: Asked,
        owner: IdOwner,
        stamped: &mut FactNumber,
    ) -> Result<(Reply, FactNumber), RemoteError> {
        let Asked { id, caller, submit_dir, credentials } = asked;
        self.find_id_of_before(id, owner).await?;
        let first = self.owner.step(Event::SubmitAsked { id, caller: caller.clone() });
        if !matches!(first.0, Reply::Submission(SubmissionReply::ReadFiles)) {
            // Refused, or a job that is known: asked again, it is answered again.
            return Ok(first);
        }
        // From here on the engine knows of the submission; whoever leaves early takes it back.
        let mut pending = Pending { owner: &self.owner, id, is_settled: false };
        if let Some(text) = unwell(&self.owner.store_health(), self.owner.is_pressed()) {
            return Err(RemoteError::io(text));
        }
        let _in_hand = self.in_hand.acquire().await;
        let files = self.read(id, caller.user.clone(), submit_dir).await?;
        let racks = self.topology.racks(&files.hosts).await;
        let user = files.spec.user.clone();
        let submit_dir = files.spec.submit_dir.clone();
        let read = ReadSubmission {
            id,
            caller,
            spec: Arc::new(files.spec),
            splits: Arc::new(files.splits.build(|host| racks.rack_of(host).to_owned())),
            credentials,
            signature: files.signature,
            token_secret: files.token_secret,
        };
        let (reply, wait_for) = self.owner.step(Event::SubmissionRead(Box::new(read)));
        let Reply::Submission(SubmissionReply::WriteSystemDir { token_file, .. }) = reply else {
            pending.is_settled = true;
            self.remove_staging(id, submit_dir).await;
            return Ok((reply, wait_for));
        };
        *stamped = wait_for;
        self.write(id, user, submit_dir, token_file).await?;
        let (reply, wait_for) = self.owner.step(Event::SystemDirWritten { id });
        pending.is_settled = true;
        if !matches!(reply, Reply::Submission(SubmissionReply::Accepted(_))) {
            self.remove_system_dir(id).await;
        }
        Ok((reply, wait_for))
    }

    /// A client was given its id before a restart and submits after it: the job that it never became may come in.
    async fn find_id_of_before(&self, id: JobId, owner: IdOwner) -> Result<(), RemoteError> {
        let Some(store) = self.store.get().filter(|_| self.owner.with_engine(|engine| engine.is_id_of_before(id)))
        else {
            return Ok(());
        };
        // A directory that a crash left of it may just be about to be removed. The sender is ours, so it does not go.
        let _ = self.is_settled.subscribe().wait_for(|is_settled| *is_settled).await;
        let store = store.clone();
        if self.on_pool(move || store.is_unused(id)).await?.map_err(RemoteError::io)? {
            self.owner.step(Event::UnusedIdFound { id, owner });
        }
        Ok(())
    }

    async fn read(&self, id: JobId, user: Arc<str>, submit_dir: String) -> Result<ReadFiles, RemoteError> {
        let reading = self.reading.clone();
        reading.look_at_keys().await;
        let read = self.on_pool(move || reading.read(id, &user, &submit_dir)).await?;
        read.map_err(RemoteError::io)
    }

    async fn write(
        &self,
        id: JobId,
        user: String,
        submit_dir: String,
        token_file: Arc<[u8]>,
    ) -> Result<(), RemoteError> {
        let system = self.system.clone();
        let write = move || system_dir::write(&system, id, &user, &submit_dir, &token_file);
        self.on_pool(write).await?.map_err(RemoteError::io)
    }

    /// Removes what is left of a job that is over: its system directory, and `staging` if that is one of ours.
    pub async fn remove_files(&self, id: JobId, staging: Option<String>) {
        self.remove_system_dir(id).await;
        if let Some(directory) = staging {
            self.remove_staging(id, directory).await;
            FaultPoint::StagingRemoved.pass();
        }
    }

    /// Removes the staging directory of a job that is over, or of a refused one, for many stock clients leave that: the 1.2.1 `JobClient`
    /// cleans up only where it happens to have opened its file system.
    async fn remove_staging(&self, id: JobId, directory: String) {
        let staging = self.staging.clone();
        self.report(self.on_pool(move || staging.remove(id, &directory)).await.map(|removed| removed.map(drop)));
    }

    /// Sees to it that no other JobTracker takes in a job that is over.
    pub async fn remove_job_info(&self, id: JobId) {
        let system = self.system.clone();
        self.report(self.on_pool(move || system_dir::remove_job_info(&system, id)).await);
    }

    async fn remove_system_dir(&self, id: JobId) {
        let system = self.system.clone();
        self.report(self.on_pool(move || system_dir::remove(&system, id)).await);
    }

    fn report(&self, removed: Result<Result<(), crate::fs::FsError>, RemoteError>) {
        match removed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("files of a job stay behind: {error}"),
            Err(error) => tracing::warn!("files of a job stay behind: {}", error.message),
        }
    }

    /// Runs blocking work, not too much of it at one time.
    async fn on_pool<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, RemoteError> {
        let _turn = self.turns.acquire().await;
        let failed = |error| RemoteError::io(format_args!("the JobTracker failed at it: {error}"));
        tokio::task::spawn_blocking(work).await.map_err(failed)
    }
}

/// A submission that the engine knows of and that is neither in nor refused.
struct Pending<'a> {
    owner: &'a Owner,
    id: JobId,
    is_settled: bool,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.owner.step(Event::SubmissionAbandoned { id: self.id });
        }
    }
}

/// What keeps the store from taking a new job.
fn unwell(health: &Health, is_pressed: bool) -> Option<String> {
    match health {
        Health::Good if is_pressed => {
            Some("no job is taken in now, for too much waits for the state store: try again soon".to_owned())
        }
        Health::Good => None,
        Health::Failing { text, .. } => {
            Some(format!("no job is taken in now, for the state store cannot write: {text}"))
        }
        Health::Broken { text } => Some(format!("no job is taken in any more, for the state store is broken: {text}")),
    }
}
