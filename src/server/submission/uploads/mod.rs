//! Files of jobs that clients hand over before they submit, since the daemon could not read them where the clients' own rights would
//! put them.

mod folder;
mod ledger;

use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

use crate::config::Settings;
use crate::fs::FsError;
use crate::http::{FairBudget, Held, Peer};
use crate::model::JobId;
use crate::server::owner::Owner as EngineOwner;
use crate::store::FinishedJobReader;
use crate::web::{FileRefusal, NewUpload, UploadSink};

use super::staging::StagingRoot;

use folder::{UploadFolders, is_user_name};
use ledger::{Owner, Review, UploadLedger, UploadReservation, lock};

/// Uploads under way, and those of one user of an address.
const UNDER_WAY: (u64, u64) = (64, 8);
/// Pieces of an upload that wait for the disk.
const WAITING_PIECES: usize = 16;
/// Between two looks for files whose jobs were never submitted.
const ROUND: Duration = Duration::from_secs(30);

/// Takes files of jobs in. Cheap to clone, for any thread.
#[derive(Clone, Debug)]
pub(crate) struct Uploads {
    folders: UploadFolders,
    ledger: Arc<Mutex<UploadLedger>>,
    limits: crate::config::settings::UploadLimits,
    /// Uploads under way: each has a thread.
    places: Arc<FairBudget>,
}

impl Uploads {
    pub(super) fn new(settings: &Settings, staging: StagingRoot) -> Self {
        let folders = UploadFolders::new(
            staging,
            settings.directories.state.clone(),
            settings.uploads,
            settings.daemon_user.clone(),
        );
        let places = FairBudget::new(UNDER_WAY.0, UNDER_WAY.1);
        Self { folders, ledger: Arc::default(), limits: settings.uploads, places }
    }

    /// Whether files of the user for the job are here.
    pub(crate) fn has(&self, job: JobId, user: &Arc<str>) -> bool {
        lock(&self.ledger).has(&(user.clone(), job))
    }

    /// Begins an upload that the engine allows, on a thread of the runtime's pool.
    pub(crate) fn begin(&self, upload: NewUpload) -> Result<UploadSink, FileRefusal> {
        let NewUpload { file, user, peer, length_bytes } = upload;
        let (place, gives_way) = self.place_for(peer, &user)?;
        let owner: Owner = (user.clone(), file.job);
        let reservation = UploadReservation::new(&self.ledger, self.limits, (owner, peer), (&file.name, length_bytes))?;
        let (pieces, received) = mpsc::channel(WAITING_PIECES);
        let (outcome, stored) = oneshot::channel();
        let folders = self.folders.clone();
        tokio::task::spawn_blocking(move || {
            let received = match length_bytes.map_or(Ok(()), |bytes| folders.check_room(bytes)) {
                Ok(()) => folders.receive(&file, &user, reservation, received),
                Err(refusal) => Err(refusal),
            };
            drop(place);
            // The client may have left.
            let _ = outcome.send(received);
        });
        Ok(UploadSink { pieces, stored, gives_way })
    }

    fn place_for(&self, peer: Peer, user: &str) -> Result<(Held, oneshot::Receiver<()>), FileRefusal> {
        let (place, gives_way) = self.places.begin(peer, user);
        let busy = |over| {
            let text = format!("uploads under way: {over}; try again when one is through");
            FileRefusal::new(StatusCode::SERVICE_UNAVAILABLE, text)
        };
        place.grow(1).map_err(busy)?;
        Ok((place, gives_way))
    }

    /// Refuses users whose names are no names of folders.
    pub(crate) fn check_user(user: &str) -> Result<(), FileRefusal> {
        let refused =
            || FileRefusal::new(StatusCode::BAD_REQUEST, format_args!("{user:?} cannot be the name of a folder"));
        if is_user_name(user) { Ok(()) } else { Err(refused()) }
    }

    /// Forgets the files of a job, whose folder somebody else has removed or keeps on purpose. Blocking.
    pub(super) fn forget(&self, job: JobId) {
        let owners = lock(&self.ledger).owners_of(job);
        for owner in owners {
            self.forget_one(&owner);
        }
    }

    fn forget_one(&self, owner: &Owner) {
        let is_forgotten = lock(&self.ledger).forget(owner);
        if is_forgotten && let Err(error) = self.folders.unmark(&owner.0, owner.1) {
            tracing::warn!("files of {} were handed over: {error}", owner.1);
        }
    }

    /// Removes files whose jobs are not submitted in time, those of earlier runs too. Never completes. Runs on the owner's thread, and
    /// works on files elsewhere.
    pub(crate) async fn remove_unsubmitted(self, owner: Rc<EngineOwner>, store: FinishedJobReader) {
        self.restore().await;
        loop {
            // Not in the head of the loop, which would keep it locked.
            let reviews = lock(&self.ledger).reviews(Instant::now());
            for review in reviews {
                if let Err(error) = self.review(&review, &owner, &store).await {
                    tracing::warn!("files of {} that were handed over: {error}", review.owner.1);
                }
            }
            sleep(ROUND).await;
        }
    }

    async fn restore(&self) {
        let folders = self.folders.clone();
        let markers = tokio::task::spawn_blocking(move || folders.markers()).await;
        match markers {
            Ok(Ok(markers)) => {
                let now = Instant::now();
                let mut ledger = lock(&self.ledger);
                for marker in markers {
                    let last = now.checked_sub(marker.age).unwrap_or(now);
                    if !ledger.has(&marker.owner) {
                        ledger.restore(marker.owner, marker.bytes, last);
                    }
                }
            }
            Ok(Err(error)) => tracing::warn!("cannot find files that were handed over before: {error}"),
            Err(error) => tracing::warn!("cannot find files that were handed over before: {error}"),
        }
    }

    async fn review(&self, review: &Review, engine: &EngineOwner, store: &FinishedJobReader) -> Result<(), String> {
        let Review { owner, is_submitted, is_due } = review;
        let job = owner.1;
        let needs_files = || engine.with_engine(|engine| engine.needs_files(job));
        if needs_files() {
            lock(&self.ledger).set_submitted(owner);
            return Ok(());
        }
        let is_over = *is_submitted || engine.with_engine(|engine| engine.has_job(job));
        if !is_over && !is_due {
            return Ok(());
        }
        let (uploads, store, owner) = (self.clone(), store.clone(), owner.clone());
        let is_unused = match is_over {
            true => false,
            false => on_pool(move || store.is_unused(job).map_err(|error| error.to_string())).await?,
        };
        // It may have been submitted since.
        if needs_files() {
            return Ok(());
        }
        on_pool(move || {
            // Of a job that has ended, the end has removed the files, or keeps them on purpose.
            let removed: Result<(), FsError> = if is_unused { uploads.folders.remove(&owner) } else { Ok(()) };
            removed.map_err(|error| error.to_string())?;
            uploads.forget_one(&owner);
            Ok(())
        })
        .await?;
        if is_unused {
            tracing::info!("removed the files of {job}, which were handed over and not submitted");
        }
        Ok(())
    }
}

async fn on_pool<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
}
