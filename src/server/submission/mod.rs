//! submitJob: job.xml is read and typed here and judged by the engine; only then are the job's other files read, its hosts' racks
//! asked for and anything written. Whatever refuses the job, nothing of it stays.

mod accounts;
mod error;
mod leftovers;
mod predecessors;
mod read;
mod spec;
mod staging;
mod system_dir;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::config::Settings;
use crate::engine::{Event, IdOwner, ReadSubmission, Reply, SubmissionReply};
use crate::fs::FileUri;
use crate::ipc::{Answer, RemoteError, Ticket};
use crate::mapreduce::{JobSpec, SplitTable};
use crate::model::{FactNumber, JobId};
use crate::store::{FaultPoint, FinishedJobReader, Health};

use super::acl_file::AclFile;
use super::dispatch::{answer_of, id_owner};
use super::owner::Owner;
use super::topology::Topology;
use super::turns::{Places, StuckTurns, TurnError, Turns};

pub use error::SubmissionError;
pub use leftovers::Leftovers;
pub use predecessors::SystemDirAtStart;
pub use read::Asked;
pub use staging::make_staging_root;
pub use system_dir::make_system_dir;

use read::{ReadConf, Reading, Splits};
use staging::{JobDirectory, StagingRoot};

/// Submissions whose files are read or written at one time, and those of one user.
const AT_ONE_TIME: (usize, usize) = (16, 4);
/// Time for one step of reading or writing. A job.xml has 5 MB, a job.split 64.
const FILE_PATIENCE: Duration = Duration::from_secs(10);
/// Steps that may hang, beyond that time, before no job is taken in any more.
const MOST_STUCK: usize = 16;
/// Submissions of which more than the call is in memory, and those of one user; further ones wait.
const IN_HAND: (usize, usize) = (32, 8);
/// Submissions that wait for racks, and those of one user; others go on with the racks that are known.
const WAIT_FOR_RACKS: (usize, usize) = (8, 2);
/// Removals at one time, and the time for one: their turns are not those of submissions.
const REMOVALS: (usize, Duration) = (4, Duration::from_secs(60));

/// Takes submissions through their phases.
pub struct Submissions {
    owner: Rc<Owner>,
    topology: Arc<Topology>,
    reading: Reading,
    system: FileUri,
    staging: StagingRoot,
    turns: Turns,
    removals: Turns,
    /// Jobs whose system directory is still being written although nobody waits for it any more.
    hung: Rc<RefCell<BTreeSet<JobId>>>,
    /// Knows the ids that were given out before a restart.
    store: OnceCell<FinishedJobReader>,
    /// Nothing of before the restart is removed from the system directory any more.
    is_settled: watch::Sender<bool>,
    in_hand: Places,
    wait_for_racks: Places,
}

// === impl Submissions ===

impl Submissions {
    /// Submissions by these settings. `acl`: who may sign, where the scheduler asks for signatures.
    pub fn new(owner: Rc<Owner>, topology: Arc<Topology>, settings: &Settings, acl: Option<Arc<AclFile>>) -> Rc<Self> {
        let staging = StagingRoot::new(settings);
        Rc::new(Self {
            owner,
            topology,
            reading: Reading::new(settings, acl, staging.clone()),
            system: settings.directories.system.clone(),
            staging,
            turns: Turns::new(AT_ONE_TIME.0, AT_ONE_TIME.1, FILE_PATIENCE, MOST_STUCK),
            removals: Turns::new(REMOVALS.0, REMOVALS.0, REMOVALS.1, REMOVALS.0),
            hung: Rc::default(),
            store: OnceCell::new(),
            is_settled: watch::Sender::new(true),
            in_hand: Places::new(IN_HAND.0, IN_HAND.1),
            wait_for_racks: Places::new(WAIT_FOR_RACKS.0, WAIT_FOR_RACKS.1),
        })
    }

    /// How many turns hang on files of jobs.
    pub fn stuck(&self) -> StuckTurns {
        self.turns.stuck()
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
        let (answer, wait_for) = match self.take_in(asked, &ticket, &mut stamped).await {
            Ok((reply, wait_for)) => (answer_of(reply), wait_for),
            Err(error) => (Answer::Error(error), stamped),
        };
        self.owner.answer(ticket, answer, wait_for);
    }

    /// `stamped` is the fact that a failure from there on has to wait for: a used signature.
    async fn take_in(
        &self,
        asked: Asked,
        ticket: &Ticket,
        stamped: &mut FactNumber,
    ) -> Result<(Reply, FactNumber), RemoteError> {
        let Asked { id, caller, submit_dir, credentials } = asked;
        self.find_id_of_before(id, id_owner(ticket)).await?;
        let first = self.owner.step(Event::SubmissionRequested { id, caller: caller.clone() });
        if !matches!(first.0, Reply::Submission(SubmissionReply::ReadFiles)) {
            // Refused, or a job that is known: asked again, it is answered again.
            return Ok(first);
        }
        // From here on the engine knows of the submission; whoever leaves early takes it back.
        let mut pending = Pending { owner: &self.owner, id, is_settled: false };
        if let Some(text) = unwell(&self.owner.store_health(), self.owner.is_pressed()) {
            return Err(RemoteError::io(text));
        }
        if self.hung.borrow().contains(&id) {
            return Err(RemoteError::io(format_args!(
                "the directory of {id} is still being written for an earlier submission of it: ask for a new job id"
            )));
        }
        let _in_hand = self.in_hand.acquire(&caller.user).await;
        check_caller(id, ticket)?;
        let submitter = caller.user.clone();
        let ReadConf { directory, mut spec, signature } = self.read_conf(id, &submitter, submit_dir).await?;
        let judged = self
            .owner
            .with_engine(|engine| engine.check_job_conf(id, &caller, &spec, &signature, self.owner.clock().now()));
        if let Err(refusal) = judged {
            self.remove_staging(id, spec.submit_dir).await;
            return Ok((Reply::Refused(refusal), FactNumber::default()));
        }
        check_caller(id, ticket)?;
        let (splits, only_stock) = self.read_splits(id, &submitter, directory, &spec, ticket).await?;
        spec.only_stock = spec.only_stock.or(only_stock);
        // From here on a signature would be used up.
        check_caller(id, ticket)?;
        let (user, submit_dir) = (spec.user.clone(), spec.submit_dir.clone());
        let read = ReadSubmission {
            id,
            caller,
            spec: Arc::new(spec),
            splits: Arc::new(splits),
            credentials,
            signature,
            token_secret: Reading::token_secret(id).map_err(RemoteError::io)?,
        };
        let (reply, wait_for) = self.owner.step(Event::SubmissionRead(Box::new(read)));
        let Reply::Submission(SubmissionReply::WriteSystemDir { token_file, .. }) = reply else {
            pending.is_settled = true;
            self.remove_staging(id, submit_dir).await;
            return Ok((reply, wait_for));
        };
        *stamped = wait_for;
        self.write(id, &submitter, user, submit_dir, token_file).await?;
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

    async fn read_conf(&self, id: JobId, user: &Arc<str>, submit_dir: String) -> Result<ReadConf, RemoteError> {
        let (reading, name) = (self.reading.clone(), user.clone());
        reading.look_at_keys().await;
        let read = self.turns.run(user, move || reading.read_conf(id, &name, &submit_dir)).await;
        read.map_err(RemoteError::io)?.map_err(RemoteError::io)
    }

    /// The splits of a job, with the racks of their hosts, and why only stock TaskTrackers can read them.
    async fn read_splits(
        &self,
        id: JobId,
        user: &Arc<str>,
        directory: JobDirectory,
        spec: &JobSpec,
        ticket: &Ticket,
    ) -> Result<(SplitTable, Option<String>), RemoteError> {
        let place = self.wait_for_racks.try_acquire(user);
        let (reading, topology, name) = (self.reading.clone(), self.topology.clone(), user.clone());
        let (maps, is_only_stock, may_wait) = (spec.maps, spec.only_stock.is_some(), place.is_some());
        let read = move || -> Result<_, SubmissionError> {
            let read = reading.read_splits(id, &directory, maps, is_only_stock)?;
            let asking = topology.ask(&name, read.splits.hosts(), may_wait);
            Ok((Splits::of(read.splits, asking, &topology), read.only_stock))
        };
        let read = self.turns.run(user, read).await.map_err(RemoteError::io)?;
        let (splits, only_stock) = read.map_err(RemoteError::io)?;
        let (builder, mut asking) = match splits {
            Splits::Built(splits) => return Ok((splits, only_stock)),
            Splits::WaitForRacks(builder, asking) => (builder, asking),
        };
        tokio::select! {
            () = asking.wait() => {}
            () = ticket.left() => {
                asking.withdraw();
                return Err(caller_left(id));
            }
        }
        let topology = self.topology.clone();
        let built = self.turns.run(user, move || Splits::build(builder, &topology)).await;
        Ok((built.map_err(RemoteError::io)?, only_stock))
    }

    async fn write(
        &self,
        id: JobId,
        submitter: &Arc<str>,
        user: String,
        submit_dir: String,
        token_file: Arc<[u8]>,
    ) -> Result<(), RemoteError> {
        let system = self.system.clone();
        let write = move || system_dir::write(&system, id, &user, &submit_dir, &token_file);
        let written = self.turns.run(submitter, write).await;
        let error = match written {
            Ok(written) => return written.map_err(RemoteError::io),
            Err(error) => error,
        };
        let text = error.to_string();
        if let TurnError::Overdue(_, ended) = error {
            // It may still write; what it has written by then is nobody's.
            let (hung, system) = (self.hung.clone(), self.system.clone());
            hung.borrow_mut().insert(id);
            tokio::task::spawn_local(async move {
                let _ = ended.await;
                let removed = tokio::task::spawn_blocking(move || system_dir::remove(&system, id)).await;
                if let Ok(Err(error)) = removed {
                    tracing::warn!("files of a job stay behind: {error}");
                }
                hung.borrow_mut().remove(&id);
            });
        }
        Err(RemoteError::io(text))
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
        self.report(self.remove(move || staging.remove(id, &directory).map(drop)).await);
    }

    /// Sees to it that no other JobTracker takes in a job that is over.
    pub async fn remove_job_info(&self, id: JobId) {
        let system = self.system.clone();
        self.report(self.remove(move || system_dir::remove_job_info(&system, id)).await);
    }

    async fn remove_system_dir(&self, id: JobId) {
        let system = self.system.clone();
        self.report(self.remove(move || system_dir::remove(&system, id)).await);
    }

    fn report(&self, removed: Result<Result<(), crate::fs::FsError>, RemoteError>) {
        match removed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("files of a job stay behind: {error}"),
            Err(error) => tracing::warn!("files of a job stay behind: {}", error.message),
        }
    }

    /// Removes files of jobs, not too many at one time.
    async fn remove<T: Send + 'static>(&self, removal: impl FnOnce() -> T + Send + 'static) -> Result<T, RemoteError> {
        self.removals.run(&Arc::from(""), removal).await.map_err(RemoteError::io)
    }

    /// Runs what there is only one of at one time.
    async fn on_pool<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, RemoteError> {
        let failed = |error| RemoteError::io(format_args!("the JobTracker failed at it: {error}"));
        tokio::task::spawn_blocking(work).await.map_err(failed)
    }
}

/// An error once nobody can hear of the job any more: a client that left takes its files away.
fn check_caller(id: JobId, ticket: &Ticket) -> Result<(), RemoteError> {
    if ticket.has_left() { Err(caller_left(id)) } else { Ok(()) }
}

fn caller_left(id: JobId) -> RemoteError {
    RemoteError::io(format_args!("{id} is not taken in, for whoever submitted it has hung up"))
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
