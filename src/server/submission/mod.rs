//! submitJob: job.xml is read and parsed here and checked by the engine; only then the job's other files are read, the
//! racks of its hosts resolved and files written. A rejected job leaves nothing behind.

mod awaited_files;
mod error;
mod job_file;
mod leftovers;
mod map_inputs;
mod predecessors;
mod read;
mod spec;
mod staging;
mod system_dir;
mod system_dir_at_start;
mod uploads;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::config::Settings;
use crate::engine::{Caller, Event, IdOwner, ReadSubmission, Refusal, Reply, SubmissionReply};
use crate::fs::FsError;
use crate::ipc::{CallAnswer, PendingCall, RemoteError};
use crate::mapreduce::{JobSpec, SplitTable};
use crate::market::JobSignature;
use crate::model::{FactNumber, JobId};
use crate::store::{FaultPoint, FinishedJobReader, Health};

use super::acl_file::AclFile;
use super::answer::answer_of;
use super::fair_pool::{FairPool, FairPoolError, FairShares, StuckThreads};
use super::hadoop_audit::{AuditedCall, HadoopAudit};
use super::owner::Owner;
use super::rack_resolver::RackResolver;

pub(crate) use awaited_files::AwaitedFiles;
pub(crate) use error::SubmissionError;
pub(crate) use job_file::JobFileSender;
pub(crate) use leftovers::Leftovers;
pub(crate) use map_inputs::MapInputs;
pub(crate) use read::SubmissionRequest;
pub(crate) use system_dir_at_start::{DirectoryError, SystemDirAtStart, make_directories};
pub(crate) use uploads::Uploads;

use awaited_files::is_safe_mode;
use read::{ReadConf, Splits, SubmissionReader};
use staging::{JobDirectory, StagingRoot};
use system_dir::SystemDir;

/// Concurrent submissions that read or write files, and those of one user.
const CONCURRENT: (usize, usize) = (16, 4);
/// Timeout of one step of reading or writing. A job.xml has 5 MB, a job.split 64.
const FILE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum stuck steps; beyond it no job is accepted.
const MAX_STUCK: usize = 16;
/// Submissions held in memory beyond the call itself, and those of one user; further ones wait.
const IN_PROGRESS: (usize, usize) = (32, 8);
/// Submissions that wait for racks, and those of one user; others use the racks known so far.
const WAIT_FOR_RACKS: (usize, usize) = (8, 2);
/// Pause between two tries to remove files whose file system cannot be reached.
const REMOVAL_PAUSE: Duration = Duration::from_secs(10);
/// Concurrent removals, and the timeout of one: removals do not compete with submissions.
const REMOVALS: (usize, Duration) = (4, Duration::from_secs(60));

/// Takes submissions through their phases.
pub(crate) struct Submissions {
    owner: Rc<Owner>,
    resolver: Arc<RackResolver>,
    reader: SubmissionReader,
    system: SystemDir,
    staging: StagingRoot,
    uploads: Uploads,
    job_files: JobFileSender,
    file_pool: FairPool,
    removal_pool: FairPool,
    /// Jobs whose system directory is still being written after the deadline.
    overdue: Rc<RefCell<BTreeSet<JobId>>>,
    /// Knows the ids that were issued before a restart.
    store: Option<FinishedJobReader>,
    /// Whether the cleanup of earlier runs' directories is done.
    is_settled: watch::Sender<bool>,
    /// Jobs whose directories were removed before that: the cleanup may have rewritten them since.
    removed_early: RefCell<BTreeSet<JobId>>,
    in_progress: FairShares,
    wait_for_racks: FairShares,
    awaited_files: AwaitedFiles,
    /// Notified when the state is to be loaded again.
    needs_next_session: Rc<Notify>,
    audit: HadoopAudit,
}

impl Submissions {
    /// Submissions with these settings. `acl`: users that may sign, if there is a market.
    pub(crate) fn new(
        owner: Rc<Owner>,
        resolver: Arc<RackResolver>,
        settings: &Settings,
        acl: Option<Arc<AclFile>>,
        store: Option<FinishedJobReader>,
    ) -> Rc<Self> {
        let staging = StagingRoot::new(settings);
        let audit = HadoopAudit::new(owner.clock(), settings.queues.acls_enabled);
        Rc::new(Self {
            owner,
            resolver,
            reader: SubmissionReader::new(settings, acl, staging.clone()),
            system: SystemDir::new(settings),
            uploads: Uploads::new(settings, staging.clone()),
            job_files: JobFileSender::new(settings, staging.clone()),
            staging,
            file_pool: FairPool::new(CONCURRENT.0, CONCURRENT.1, FILE_TIMEOUT, MAX_STUCK),
            removal_pool: FairPool::new(REMOVALS.0, REMOVALS.0, REMOVALS.1, REMOVALS.0),
            overdue: Rc::default(),
            store,
            is_settled: watch::Sender::new(true),
            removed_early: RefCell::default(),
            in_progress: FairShares::new(IN_PROGRESS.0, IN_PROGRESS.1),
            wait_for_racks: FairShares::new(WAIT_FOR_RACKS.0, WAIT_FOR_RACKS.1),
            awaited_files: AwaitedFiles::default(),
            needs_next_session: Rc::default(),
            audit,
        })
    }

    /// The threads that are stuck on files of jobs.
    pub(crate) fn stuck(&self) -> StuckThreads {
        self.file_pool.stuck()
    }

    /// Whether the files of jobs can be reached.
    pub(crate) fn awaited_files(&self) -> &AwaitedFiles {
        &self.awaited_files
    }

    /// Notified when another session must begin: only where the state is loaded is taken over what another JobTracker has done.
    pub(crate) fn needs_next_session(&self) -> Rc<Notify> {
        self.needs_next_session.clone()
    }

    /// Takes in the files of jobs that clients hand over.
    pub(crate) fn uploads(&self) -> &Uploads {
        &self.uploads
    }

    /// Gives workers the files of jobs.
    pub(crate) fn job_files(&self) -> &JobFileSender {
        &self.job_files
    }

    /// Announces a cleanup of earlier runs' directories.
    pub(crate) fn expect_leftovers(&self, leftovers: &Leftovers) {
        self.is_settled.send_replace(false);
        if let Some(unread) = &leftovers.unread {
            self.awaited_files.set(unread.reason.clone());
        }
    }

    /// Answers a submitJob, when the job is durable or rejected.
    pub(crate) async fn submit(self: Rc<Self>, request: SubmissionRequest, pending: PendingCall) {
        let mut stamped = FactNumber::default();
        let (answer, wait_for) = match self.accept(request, &pending, &mut stamped).await {
            Ok((reply, wait_for)) => (answer_of(reply), wait_for),
            Err(error) => (CallAnswer::Error(error), stamped),
        };
        self.owner.answer(pending, answer, wait_for);
    }

    /// `stamped`: the fact that a later failure must wait for, a used signature.
    async fn accept(
        &self,
        request: SubmissionRequest,
        pending: &PendingCall,
        stamped: &mut FactNumber,
    ) -> Result<(Reply, FactNumber), RemoteError> {
        let SubmissionRequest { id, caller, submit_dir, credentials } = request;
        self.find_id_of_earlier_run(id, id_owner(pending)).await?;
        let first = self.owner.step(Event::SubmissionRequested { id, caller: caller.clone() });
        if !matches!(first.0, Reply::Submission(SubmissionReply::ReadFiles)) {
            // Refused, or a known job: a repeated call gets the same answer.
            return Ok(first);
        }
        // The engine knows the submission from here on; an early return abandons it.
        let mut open_submission = OpenSubmission { owner: &self.owner, id, is_settled: false };
        self.check_readiness(id)?;
        let _in_progress = self.in_progress.acquire(&caller.user).await;
        check_caller(id, pending)?;
        let submitter = caller.user.clone();
        let ReadConf { directory, mut spec, signature, job_xml, unread, .. } =
            self.read_conf(id, &submitter, submit_dir).await?;
        let (checked, audited) = self.check_conf(id, &caller, &spec, &signature, pending);
        if let Err(refusal) = checked {
            self.remove_staging(id, spec.submit_dir).await;
            return Ok((Reply::Refused(refusal), FactNumber::default()));
        }
        check_caller(id, pending)?;
        let (splits, only_stock) = self.read_splits(id, &submitter, directory, &spec, pending).await?;
        spec.only_stock = spec.only_stock.or(only_stock);
        // From here on the signature counts as used.
        check_caller(id, pending)?;
        let (user, submit_dir) = (spec.user.clone(), spec.submit_dir.clone());
        let read = ReadSubmission {
            id,
            caller,
            spec: Arc::new(spec),
            splits: Arc::new(splits),
            credentials,
            signature,
            token_secret: SubmissionReader::token_secret(id).map_err(RemoteError::io)?,
            job_xml,
        };
        let (reply, wait_for) = self.owner.step(Event::SubmissionRead(Box::new(read)));
        let Reply::Submission(SubmissionReply::WriteSystemDir { token_file, .. }) = reply else {
            open_submission.is_settled = true;
            self.remove_staging(id, submit_dir).await;
            return Ok((reply, wait_for));
        };
        *stamped = wait_for;
        self.write_or_remove_staging(id, &submitter, user, submit_dir, token_file).await?;
        let (reply, wait_for) = self.owner.step(Event::SystemDirWritten { id });
        open_submission.is_settled = true;
        match reply {
            Reply::Submission(SubmissionReply::Accepted(_)) => self.note_accepted(id, &audited, unread),
            _ => self.remove_system_dir(id).await,
        }
        Ok((reply, wait_for))
    }

    fn note_accepted(&self, id: JobId, audited: &AuditedCall, unread: Option<String>) {
        self.audit.submitted(audited, id);
        if let Some(unread) = unread {
            tracing::info!("{id} sets properties that nothing reads: {unread}");
        }
    }

    /// Whether its files may be read and written now.
    fn check_readiness(&self, id: JobId) -> Result<(), RemoteError> {
        self.awaited_files.check()?;
        if let Some(text) = store_refusal(&self.owner.store_health(), self.owner.is_overloaded()) {
            return Err(RemoteError::io(text));
        }
        if self.overdue.borrow().contains(&id) {
            return Err(RemoteError::io(format_args!(
                "the directory of {id} is still being written for an earlier submission: request a new job id"
            )));
        }
        Ok(())
    }

    /// Whether the engine takes a job with this configuration, and the call as it is audited.
    fn check_conf(
        &self,
        id: JobId,
        caller: &Caller,
        spec: &JobSpec,
        signature: &JobSignature,
        pending: &PendingCall,
    ) -> (Result<(), Refusal>, AuditedCall) {
        let checked = self
            .owner
            .with_engine(|engine| engine.check_job_conf(id, caller, spec, signature, self.owner.clock().now()));
        let audited = self
            .owner
            .with_engine(|engine| self.audit.of_submission(engine, id, &spec.queue, &caller.user, pending.address()));
        if let Err(Refusal::AccessDenied(_)) = checked {
            self.audit.refused(&audited, HadoopAudit::UNAUTHORIZED);
        }
        (checked, audited)
    }

    /// Reopens an id that was issued before a restart and has no job yet.
    async fn find_id_of_earlier_run(&self, id: JobId, owner: IdOwner) -> Result<(), RemoteError> {
        let Some(store) = self.store.as_ref().filter(|_| self.owner.with_engine(|engine| engine.is_id_of_before(id)))
        else {
            return Ok(());
        };
        // The cleanup waits for the file system, which may take long.
        self.awaited_files.check()?;
        // The cleanup may be about to remove a directory that a crash left for it. The sender lives as long as `self`.
        let _ = self.is_settled.subscribe().wait_for(|is_settled| *is_settled).await;
        let store = store.clone();
        if self.on_pool(move || store.is_unused(id)).await?.map_err(RemoteError::io)? {
            self.owner.step(Event::UnusedIdFound { id, owner });
        }
        Ok(())
    }

    async fn read_conf(&self, id: JobId, user: &Arc<str>, submit_dir: String) -> Result<ReadConf, RemoteError> {
        let (reader, name, pool_property) = (self.reader.clone(), user.clone(), self.pool_property());
        reader.refresh_keys().await;
        let read = move || {
            let mut read = reader.read_conf(id, &name, &submit_dir, pool_property.as_deref())?;
            read.uncallable.take().map_or(Ok(read), Err)
        };
        let read = self.file_pool.run(user, read).await;
        read.map_err(RemoteError::io)?.map_err(SubmissionError::into_remote)
    }

    /// The property of a job that the ruling scheduler takes pools from.
    fn pool_property(&self) -> Option<String> {
        self.owner.with_engine(|engine| engine.pool_name_property().map(str::to_owned))
    }

    /// The splits of a job with their hosts' racks, and the reason if only stock TaskTrackers can read them.
    async fn read_splits(
        &self,
        id: JobId,
        user: &Arc<str>,
        directory: JobDirectory,
        spec: &JobSpec,
        pending: &PendingCall,
    ) -> Result<(SplitTable, Option<String>), RemoteError> {
        let place = self.wait_for_racks.try_acquire(user);
        let (reader, resolver, name) = (self.reader.clone(), self.resolver.clone(), user.clone());
        let (maps, is_only_stock, can_wait) = (spec.maps, spec.only_stock.is_some(), place.is_some());
        let read = move || -> Result<_, SubmissionError> {
            let read = reader.read_splits(id, &directory, maps, is_only_stock)?;
            let rack_request = resolver.request_racks(&name, read.splits.hosts(), can_wait);
            Ok((Splits::of(read.splits, rack_request, &resolver), read.only_stock))
        };
        let read = self.file_pool.run(user, read).await.map_err(RemoteError::io)?;
        let (splits, only_stock) = read.map_err(SubmissionError::into_remote)?;
        let (builder, mut rack_request) = match splits {
            Splits::Built(splits) => return Ok((splits, only_stock)),
            Splits::WaitForRacks(builder, rack_request) => (builder, rack_request),
        };
        tokio::select! {
            () = rack_request.wait() => {}
            () = pending.left() => {
                rack_request.withdraw();
                return Err(caller_left(id));
            }
        }
        let resolver = self.resolver.clone();
        let built = self.file_pool.run(user, move || Splits::build(builder, &resolver)).await;
        Ok((built.map_err(RemoteError::io)?, only_stock))
    }

    async fn write_or_remove_staging(
        &self,
        id: JobId,
        submitter: &Arc<str>,
        user: String,
        submit_dir: String,
        token_file: Arc<[u8]>,
    ) -> Result<(), RemoteError> {
        let written = self.write(id, submitter, user, submit_dir.clone(), token_file).await;
        // A client that waits and retries needs its files; others leave them.
        if written.as_ref().is_err_and(|error| !is_safe_mode(error)) {
            self.remove_staging(id, submit_dir).await;
        }
        written
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
        let write = move || system.write(id, &user, &submit_dir, &token_file);
        let written = self.file_pool.run(submitter, write).await;
        let error = match written {
            Ok(written) => return written.map_err(|error| SubmissionError::from(error).into_remote()),
            Err(error) => error,
        };
        let text = error.to_string();
        if let FairPoolError::Overdue(_, ended) = error {
            // It may still write; remove that afterwards.
            let (overdue, system) = (self.overdue.clone(), self.system.clone());
            overdue.borrow_mut().insert(id);
            tokio::task::spawn_local(async move {
                let _ = ended.await;
                let removed = tokio::task::spawn_blocking(move || system.remove(id)).await;
                if let Ok(Err(error)) = removed {
                    tracing::warn!("cannot remove files of a job: {error}");
                }
                overdue.borrow_mut().remove(&id);
            });
        }
        Err(RemoteError::io(text))
    }

    /// Removes the files of a completed job: its system directory, and `staging` if that is in the staging root.
    pub(crate) async fn remove_files(&self, id: JobId, staging: Option<String>) {
        if !*self.is_settled.borrow() {
            self.removed_early.borrow_mut().insert(id);
        }
        let system = self.system.clone();
        self.remove_when_reached(move || system.remove(id)).await;
        if let Some(directory) = staging {
            let (staging, uploads) = (self.staging.clone(), self.uploads.clone());
            let remove = move || {
                staging.remove(id, &directory)?;
                uploads.forget(id);
                Ok(())
            };
            self.remove_when_reached(remove).await;
            FaultPoint::StagingRemoved.pass();
        }
    }

    /// Removes files of a completed job, as soon as their file system can be reached.
    async fn remove_when_reached(&self, removal: impl Fn() -> Result<(), FsError> + Clone + Send + 'static) {
        let mut is_logged = false;
        loop {
            match self.remove(removal.clone()).await {
                Ok(Err(error)) if error.is_temporary() => {
                    if !std::mem::replace(&mut is_logged, true) {
                        tracing::warn!("cannot remove files of a job, retrying: {error}");
                    }
                    tokio::time::sleep(REMOVAL_PAUSE).await;
                }
                removed => return self.report(removed),
            }
        }
    }

    /// Removes the staging directory of a completed or rejected job, since many stock clients leave it: the 1.2.1
    /// `JobClient` cleans up only if it happens to have opened its file system.
    async fn remove_staging(&self, id: JobId, directory: String) {
        let (staging, uploads) = (self.staging.clone(), self.uploads.clone());
        let remove = move || {
            staging.remove(id, &directory)?;
            uploads.forget(id);
            Ok(())
        };
        self.report(self.remove(remove).await);
    }

    /// Removes job-info, so that no other JobTracker adopts a completed job.
    pub(crate) async fn remove_job_info(&self, id: JobId) {
        let system = self.system.clone();
        self.remove_when_reached(move || system.remove_job_info(id)).await;
    }

    async fn remove_system_dir(&self, id: JobId) {
        let system = self.system.clone();
        self.report(self.remove(move || system.remove(id)).await);
    }

    fn report(&self, removed: Result<Result<(), FsError>, RemoteError>) {
        match removed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("cannot remove files of a job: {error}"),
            Err(error) => tracing::warn!("cannot remove files of a job: {}", error.message),
        }
    }

    /// Removes files of jobs, within the limit on removals.
    async fn remove<T: Send + 'static>(&self, removal: impl FnOnce() -> T + Send + 'static) -> Result<T, RemoteError> {
        self.removal_pool.run(&Arc::from(""), removal).await.map_err(RemoteError::io)
    }

    /// Runs work that has no concurrency limit, since there is one of its kind at a time.
    async fn on_pool<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, RemoteError> {
        let failed = |error| RemoteError::io(format_args!("the JobTracker failed internally: {error}"));
        tokio::task::spawn_blocking(work).await.map_err(failed)
    }
}

/// The owner of a job id: the caller that requested it or submits under it.
pub(super) fn id_owner(pending: &PendingCall) -> IdOwner {
    IdOwner { user: pending.user().clone(), connection: pending.connection(), origin: pending.origin() }
}

/// An error if the client disconnected: a client that leaves removes its files.
fn check_caller(id: JobId, pending: &PendingCall) -> Result<(), RemoteError> {
    if pending.has_left() { Err(caller_left(id)) } else { Ok(()) }
}

fn caller_left(id: JobId) -> RemoteError {
    RemoteError::io(format_args!("{id} is not accepted: its client has disconnected"))
}

/// A submission that the engine knows and that is neither accepted nor rejected.
struct OpenSubmission<'a> {
    owner: &'a Owner,
    id: JobId,
    is_settled: bool,
}

impl Drop for OpenSubmission<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.owner.step(Event::SubmissionAbandoned { id: self.id });
        }
    }
}

/// Why the store cannot accept a job.
fn store_refusal(health: &Health, is_overloaded: bool) -> Option<String> {
    match health {
        Health::Good if is_overloaded => {
            Some("no job is accepted now because too many changes wait for the state store: try again soon".to_owned())
        }
        Health::Good => None,
        Health::Failing { text, .. } => {
            Some(format!("no job is accepted now because the state store cannot write: {text}"))
        }
        Health::Broken { text } => {
            Some(format!("no job is accepted any more because the state store is broken: {text}"))
        }
    }
}
