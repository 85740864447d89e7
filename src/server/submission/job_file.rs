//! Gives workers the files of jobs that they may not read themselves, under the job's token. Blocking work runs on the pool.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::StatusCode;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use crate::config::Settings;
use crate::fs::OpenFile;
use crate::streaming::job_file::{CHANGED_MS, PATH, REPLY_HASH, parse_query};
use crate::streaming::shuffle::signature::{ShuffleSecret, is_same_hash};
use crate::web::{FileRefusal, JobFile, JobFileRequest, PieceBody};

use super::staging::StagingRoot;
use super::system_dir::SystemDir;

/// Files that are sent at one time: each has a thread.
const SENT_AT_ONCE: usize = 48;
/// Wait for a place among them.
const PLACE_TIMEOUT: Duration = Duration::from_secs(20);
/// Read at once, bytes, and how many of those may wait for the client.
const PIECE_BYTES: usize = 128 << 10;
const WAITING_PIECES: usize = 4;
/// Most characters of a request that a refusal repeats.
const MAX_REPEATED_CHARS: usize = 64;

/// Gives files of jobs. Cheap to clone, for any thread.
#[derive(Clone, Debug)]
pub(crate) struct JobFileSender {
    system: SystemDir,
    staging: StagingRoot,
    places: Arc<Semaphore>,
}

impl JobFileSender {
    pub(super) fn new(settings: &Settings, staging: StagingRoot) -> Self {
        let places = Arc::new(Semaphore::new(SENT_AT_ONCE));
        Self { system: SystemDir::new(settings), staging, places }
    }

    /// The file that a request is for; `port`: the one that received it, which is signed.
    pub(crate) async fn send(&self, request: JobFileRequest, port: u16) -> Result<JobFile, FileRefusal> {
        let busy =
            |_| FileRefusal::new(StatusCode::SERVICE_UNAVAILABLE, "too many files are being sent: try again soon");
        let place = timeout(PLACE_TIMEOUT, self.places.clone().acquire_owned()).await.map_err(busy)?;
        let place = place.map_err(|error| FileRefusal::new(StatusCode::SERVICE_UNAVAILABLE, error))?;
        let this = self.clone();
        let opened = tokio::task::spawn_blocking(move || this.open(&request, port)).await;
        let internal = |error| FileRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, error);
        let (mut file, reply_hash) = opened.map_err(internal)??;
        let changed_ms = file.changed_ms().unwrap_or(0);
        let left_bytes = file.length_bytes();
        let (sender, pieces) = mpsc::channel(WAITING_PIECES);
        tokio::task::spawn_blocking(move || {
            // Held while the file is read.
            let _place = place;
            let mut left_bytes = left_bytes;
            while left_bytes > 0 {
                let bytes = usize::try_from(left_bytes).unwrap_or(usize::MAX).min(PIECE_BYTES);
                let mut piece = vec![0; bytes];
                let read: io::Result<Bytes> = file.read_exact(&mut piece).map(|()| piece.into());
                let is_over = read.is_err();
                // A client that leaves ends it.
                if sender.blocking_send(read).is_err() || is_over {
                    return;
                }
                left_bytes -= bytes as u64;
            }
        });
        let headers = vec![(REPLY_HASH, reply_hash), (CHANGED_MS, changed_ms.to_string())];
        Ok(JobFile { headers, body: PieceBody { pieces, left_bytes } })
    }

    /// Opens the file of a request with a valid signature; returns the signature of the answer, too. Blocking.
    fn open(&self, request: &JobFileRequest, port: u16) -> Result<(OpenFile, String), FileRefusal> {
        let query = request.path_and_query.strip_prefix(PATH).and_then(|query| query.strip_prefix('?'));
        let Some((job, name)) = query.and_then(parse_query) else {
            return Err(FileRefusal::new(StatusCode::BAD_REQUEST, "expected job=JOB and name=NAME, each once"));
        };
        let gone = || FileRefusal::new(StatusCode::NOT_FOUND, format_args!("{job} is no job that runs"));
        let token = self.system.read_job_token(job).map_err(|_| gone())?;
        let secret = ShuffleSecret::of_token_file(&token).ok_or_else(gone)?;
        if !is_same_hash(&request.url_hash, &secret.url_hash(port, &request.path_and_query)) {
            let text = "the request is not signed with the job's token";
            return Err(FileRefusal::new(StatusCode::UNAUTHORIZED, text));
        }
        // Only who knows the token learns more.
        let info = self.system.read_job_info(job).map_err(|_| gone())?;
        let (user, folder) = (info.user.0, info.directory.0.unwrap_or_default());
        let folder = self.staging.open(&user, job, &folder).map_err(|error| missing(&name, &error))?;
        let found = folder.open_file(Path::new(&name)).map_err(|error| missing(&name, &error))?;
        Ok((found, secret.reply_hash(&request.url_hash)))
    }
}

fn missing(name: &str, error: &dyn std::fmt::Display) -> FileRefusal {
    let name: String = name.chars().take(MAX_REPEATED_CHARS).collect();
    FileRefusal::new(StatusCode::NOT_FOUND, format_args!("{name:?}: {error}"))
}
