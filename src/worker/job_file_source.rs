//! Where the files of a job come from: its staging folder, or the JobTracker over HTTP where this process may not read that or does not
//! see it.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use hyper::header::{CONNECTION, HOST};
use hyper::{Request, StatusCode};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep};

use crate::config::{ConfigError, Configuration, HostPort, keys};
use crate::fs::{Expected, FileSystems, FileUri, FsError};
use crate::http::{IncomingAnswer, send_request};
use crate::model::JobId;
use crate::streaming::failure::TaskFailure;
use crate::streaming::job_file::{CHANGED_MS, REPLY_HASH, URL_HASH, path_and_query};
use crate::streaming::private_files::create_file;
use crate::streaming::shuffle::signature::{ShuffleSecret, is_same_hash};
use crate::streaming::working_folder::{StopCheck, WorkStep, copy, copy_input, unusable_input};
use crate::supervisor::shortage::is_shortage;

/// Name of a user's folder for the directories of jobs.
const STAGING: &str = ".staging";
/// Longest wait for the next bytes of the JobTracker.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Interval between two checks for a stop while waiting.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Largest head of an answer, bytes.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// Largest text of a refusal, bytes.
const MAX_REFUSAL_BYTES: usize = 4 << 10;

/// The folder below which no link to a job's file is followed: the parent of `USER` for `USER/.staging/JOB/job.xml`,
/// else the parent of the job's folder.
fn staging_root(job_file: &FileUri) -> FileUri {
    let above = |levels| (0..levels).try_fold(job_file.clone(), |file, _| file.parent());
    let is_staged = above(2).is_some_and(|folder| folder.name() == Some(STAGING));
    above(if is_staged { 4 } else { 2 }).unwrap_or_else(|| job_file.root())
}

/// The content of a job's file, found without following links below `root`.
/// Errors: a link, no regular file, one with further names, or too long.
pub(crate) fn read_job_file(
    files: &FileSystems,
    root: &FileUri,
    path: &FileUri,
    max_bytes: u64,
) -> Result<Vec<u8>, FsError> {
    let expected = Expected::file_of_any_owner().with_one_link().at_most(max_bytes);
    files.of(path).open_below(root, path, &expected)?.read_limited(max_bytes)
}

/// The address at which the JobTracker gives files: the host of its RPC address, and the port of its web.
pub(crate) fn jobtracker_web(cluster: &Configuration) -> Result<HostPort, ConfigError> {
    let host = cluster.address(&keys::RPC_ADDRESS)?.host;
    Ok(HostPort { host, port: cluster.address(&keys::HTTP_ADDRESS)?.port })
}

/// The files of one job in its staging folder.
#[derive(Clone, Debug)]
pub(crate) struct JobFileSource {
    files: FileSystems,
    job: JobId,
    secret: ShuffleSecret,
    folder: FileUri,
    web: Result<HostPort, String>,
}

impl JobFileSource {
    /// The files beside `job_file`, read through `files`; `secret` signs the requests for them.
    pub(crate) fn new(
        files: FileSystems,
        job: JobId,
        secret: ShuffleSecret,
        job_file: &FileUri,
        cluster: &Configuration,
    ) -> Self {
        let folder = job_file.parent().unwrap_or_else(|| job_file.root());
        Self { files, job, secret, folder, web: jobtracker_web(cluster).map_err(|error| error.to_string()) }
    }

    /// Whether the file is the job's own, which its submitter handed over with it.
    pub(crate) fn has(&self, file: &FileUri) -> bool {
        self.name_of(file).is_some()
    }

    /// The content of a file of the job of at most `max_bytes`, and whether the JobTracker sent it.
    /// Errors: [`TaskFailure::Unusable`]: neither way leads to it.
    pub(crate) fn read(
        &self,
        file: &FileUri,
        max_bytes: u64,
        check_stop: &StopCheck<'_>,
    ) -> Result<(Vec<u8>, bool), TaskFailure> {
        let error = match read_job_file(&self.files, &staging_root(file), file, max_bytes) {
            Ok(bytes) => return Ok((bytes, false)),
            Err(error) => error,
        };
        let name = self.fetchable(file, &error)?;
        let mut content = Vec::new();
        let mut take = |piece: &[u8]| {
            if content.len() as u64 + piece.len() as u64 > max_bytes {
                let reason = format!("longer than {max_bytes} bytes");
                return Err(TaskFailure::Unusable { what: file.to_string(), reason });
            }
            content.extend_from_slice(piece);
            Ok(())
        };
        self.fetch(&name, &error, &mut take, check_stop)?;
        Ok((content, true))
    }

    /// Copies a file that the job names to a path of ours, one of its own wherever it is; returns when it was changed last, ms since 1970.
    /// Errors: neither way leads to it, or it cannot be written.
    pub(crate) fn copy(&self, file: &FileUri, to: &Path, check_stop: &StopCheck<'_>) -> Result<i64, TaskFailure> {
        if !self.has(file) {
            return copy_input(&self.files, file, to, check_stop);
        }
        let expected = Expected::file_of_any_owner().with_one_link();
        let error = match self.files.of(file).open_below(&staging_root(file), file, &expected) {
            Ok(found) => {
                let changed_ms = found.changed_ms().map_err(unusable_input)?;
                copy(found, to, check_stop)?;
                return Ok(changed_ms);
            }
            Err(error) => error,
        };
        let name = self.fetchable(file, &error)?;
        let mut written = create_file(to).map_err(TaskFailure::file("write", to))?;
        let mut take = |piece: &[u8]| written.write_all(piece).map_err(TaskFailure::file("write", to));
        self.fetch(&name, &error, &mut take, check_stop)
    }

    /// The path of a file below the job's folder.
    fn name_of(&self, file: &FileUri) -> Option<String> {
        file.below(&self.folder).filter(|name| !name.is_empty()).map(str::to_owned)
    }

    /// The name of a file that the JobTracker is asked for because it is not to be read here; else the error.
    fn fetchable(&self, file: &FileUri, error: &FsError) -> Result<String, TaskFailure> {
        let name = self.name_of(file).filter(|_| error.is_not_found() || error.is_denied());
        name.ok_or_else(|| TaskFailure::unusable(FILE_OF_JOB, error))
    }

    /// Asks the JobTracker for a file, since reading it here gave `error`; passes its content on piece by piece.
    fn fetch(
        &self,
        name: &str,
        error: &FsError,
        take: &mut dyn FnMut(&[u8]) -> Result<(), TaskFailure>,
        check_stop: &StopCheck<'_>,
    ) -> Result<i64, TaskFailure> {
        let web = self.web.as_ref().map_err(|reason| unusable(format!("{error}; {reason}")))?;
        let failed = |reason: io::Error| {
            let is_short = is_shortage(&reason);
            let text = format!("{error}; the JobTracker at {web} does not give it either: {reason}");
            if is_short { TaskFailure::Short(format!("{FILE_OF_JOB}: {text}")) } else { unusable(text) }
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        runtime.block_on(async {
            let mut answer = within(self.ask(web, name), check_stop).await?.map_err(failed)?;
            let changed_ms = answer.headers().get(CHANGED_MS).and_then(|value| value.to_str().ok()?.parse().ok());
            let changed_ms = changed_ms.ok_or_else(|| failed(io::Error::other("its answer is no file of a job")))?;
            loop {
                let next = async { answer.next_piece().await.map_err(io::Error::other) };
                let Some(piece) = within(next, check_stop).await?.map_err(failed)? else { return Ok(changed_ms) };
                take(&piece)?;
                check_stop(WorkStep::Advanced)?;
            }
        })
    }

    async fn ask(&self, web: &HostPort, name: &str) -> io::Result<IncomingAnswer> {
        let path = path_and_query(self.job, name);
        let url_hash = self.secret.url_hash(web.port, &path);
        let request = Request::get(&path)
            .header(HOST, web.to_string())
            .header(URL_HASH, &url_hash)
            .header(CONNECTION, "close")
            .body(String::new())
            .map_err(io::Error::other)?;
        let stream = TcpStream::connect((web.host.as_str(), web.port)).await?;
        let answer = send_request(stream, request, MAX_HEAD_BYTES).await.map_err(io::Error::other)?;
        if answer.status() != StatusCode::OK {
            let line = answer.status_line();
            let text = answer.into_text(MAX_REFUSAL_BYTES).await.unwrap_or_default();
            return Err(io::Error::other(format!("{line}: {}", text.trim_end())));
        }
        let reply_hash = answer.headers().get(REPLY_HASH).and_then(|hash| hash.to_str().ok()).unwrap_or_default();
        if !is_same_hash(reply_hash, &self.secret.reply_hash(&url_hash)) {
            return Err(io::Error::other("its answer is not signed with the job's token"));
        }
        Ok(answer)
    }
}

/// What cannot be used when neither way leads to it.
const FILE_OF_JOB: &str = "a file of the job";

fn unusable(reason: String) -> TaskFailure {
    TaskFailure::Unusable { what: FILE_OF_JOB.to_owned(), reason }
}

/// Waits for the JobTracker, no longer than [`TIMEOUT`] and until the attempt is stopped.
async fn within<T>(
    step: impl Future<Output = io::Result<T>>,
    check_stop: &StopCheck<'_>,
) -> Result<io::Result<T>, TaskFailure> {
    let mut step = std::pin::pin!(step);
    let deadline = Instant::now() + TIMEOUT;
    loop {
        tokio::select! {
            biased;
            result = &mut step => return Ok(result),
            () = sleep(STOP_CHECK_INTERVAL) => check_stop(WorkStep::Waiting)?,
        }
        if Instant::now() >= deadline {
            return Ok(Err(io::Error::other(format!("no answer within {} s", TIMEOUT.as_secs()))));
        }
    }
}

#[cfg(test)]
#[path = "tests/job_file_source.rs"]
mod tests;
