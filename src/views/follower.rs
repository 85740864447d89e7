//! The thread that applies durable facts and what the owner says, and publishes what they make.

use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::watch;

use crate::clock::{Clock, wall_ms};
use crate::engine::VolatileDelta;
use crate::store::{FactFollower, StoreError};

use super::looks::ReaderLooks;
use super::published::{Publication, PublicationProgress, Publications};
use super::read_model::ReadModel;
use super::reader::{Note, ViewsFeed, ViewsReader};
use super::samples::Samples;
use super::volatile::Volatile;

/// Least time between two publications, ms.
const PUBLISH_MS: u64 = 100;
/// Pause before a load that failed is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

type Load = Box<dyn Fn() -> Result<ReadModel, StoreError> + Send>;

struct ViewsThread {
    model: ReadModel,
    volatile: Volatile,
    samples: Samples,
    /// A delta whose facts are not applied yet; the owner makes no other before.
    early: Option<Box<VolatileDelta>>,
    follower: FactFollower,
    notes: mpsc::Receiver<Note>,
    load: Load,
    looks: Arc<ReaderLooks>,
    clock: Clock,
    reported_ends: u64,
    published: Arc<ArcSwap<Publications>>,
    progress: watch::Sender<PublicationProgress>,
    /// When it published last, ms of the monotonic clock.
    published_ms: u64,
}

/// Follows durable facts from `model` on until the store is closed, on a thread of its own. Where facts are missing it
/// loads the model again. The feed is for the owner, which uses the same `clock`.
///
/// # Errors
/// There is no thread to be had.
pub fn follow(
    model: ReadModel,
    follower: FactFollower,
    load: impl Fn() -> Result<ReadModel, StoreError> + Send + 'static,
    clock: Clock,
) -> io::Result<(ViewsReader, ViewsFeed)> {
    let first = Publication::new(model.views().clone(), Volatile::default(), Samples::default(), 0);
    let (progress, watched) = watch::channel(first.progress());
    let published = Arc::new(ArcSwap::from_pointee(Publications::new(first)));
    let looks = Arc::new(ReaderLooks::default());
    let (sender, notes) = mpsc::channel();
    let feed = ViewsFeed::new(sender, follower.waker(), looks.clone());
    let reader = ViewsReader::new(published.clone(), watched, looks.clone(), clock);
    let thread = ViewsThread {
        model,
        volatile: Volatile::default(),
        samples: Samples::default(),
        early: None,
        follower,
        notes,
        load: Box::new(load),
        looks,
        clock,
        reported_ends: 0,
        published,
        progress,
        published_ms: 0,
    };
    thread::Builder::new().name("views".to_owned()).spawn(|| thread.run())?;
    Ok((reader, feed))
}

impl ViewsThread {
    fn run(mut self) {
        let mut is_changed = false;
        loop {
            let due_ms = self.published_ms + PUBLISH_MS;
            let timeout = is_changed.then(|| Duration::from_millis(due_ms.saturating_sub(self.clock.mono_ms())));
            let followed = self.follower.next(timeout);
            self.model.set_time(wall_ms());
            let is_gapless = followed.batches.iter().all(|batch| {
                let is_applied = self.model.apply(batch).is_ok();
                self.samples.take_tick(self.model.views().market());
                is_applied
            });
            is_changed |= !followed.batches.is_empty();
            if followed.is_overflown || !is_gapless {
                self.load_again();
                is_changed = true;
            }
            is_changed |= self.take_notes();
            if is_changed && (followed.is_closed || self.clock.mono_ms() >= due_ms) {
                self.publish();
                is_changed = false;
            }
            if followed.is_closed {
                return;
            }
        }
    }

    /// Takes in what the owner said, as far as it is durable; whether anything changed.
    fn take_notes(&mut self) -> bool {
        let mut is_changed = false;
        for note in self.notes.try_iter() {
            match note {
                Note::EndReported(job) => {
                    self.model.report_end(job);
                    self.reported_ends += 1;
                    is_changed = true;
                }
                Note::Delta(delta) => self.early = Some(delta),
            }
        }
        let durable = self.model.views().number();
        if let Some(delta) = self.early.take_if(|delta| delta.wait_for <= durable) {
            let has_jobs = delta.jobs.is_some();
            self.volatile.apply(*delta);
            let views = self.model.views();
            self.samples.take(&self.volatile, has_jobs, |job| views.job(job).is_some());
            self.looks.take_delta();
            is_changed = true;
        }
        is_changed
    }

    /// Shows what facts and deltas have made so far.
    fn publish(&mut self) {
        // What was loaded has one too.
        self.samples.take_tick(self.model.views().market());
        let (views, volatile) = (self.model.views().clone(), self.volatile.clone());
        let published = Publication::new(views, volatile, self.samples.clone(), self.reported_ends);
        let progress = published.progress();
        self.published.store(Arc::new(self.published.load().followed_by(published)));
        self.progress.send_replace(progress);
        self.published_ms = self.clock.mono_ms();
    }

    /// Facts are missing: what they have made is in the database.
    #[expect(clippy::disallowed_methods, reason = "a database that cannot be read is tried again after a pause")]
    fn load_again(&mut self) {
        let mut is_logged = false;
        loop {
            match (self.load)() {
                Ok(model) => {
                    self.model = model.with_reported_ends_of(&self.model);
                    tracing::info!("the views missed facts and were loaded again: {}", self.model.views().number().0);
                    return;
                }
                Err(error) if !is_logged => {
                    is_logged = true;
                    tracing::warn!("the views stay as they are: {error}");
                }
                Err(_) => {}
            }
            thread::sleep(RETRY_PAUSE);
        }
    }
}
