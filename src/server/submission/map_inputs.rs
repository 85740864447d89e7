//! What the maps of a job read: the files and ranges in its job.split, which only the tasks need otherwise.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::api::{TaskAttempt, TaskInput};
use crate::config::Settings;
use crate::model::JobId;
use crate::wire::file::read_file_split;

use super::staging::StagingRoot;

const SPLITS: &str = "job.split";
/// Longest job.split that is read, bytes: about 150 per map.
const MAX_SPLITS_BYTES: u64 = 64 << 20;
/// Concurrent reads. One that hangs keeps its permit, so that no more threads hang with it.
const READS_AT_ONE_TIME: usize = 2;
/// Timeout of a read; the attempts are shown without their inputs then.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub(crate) struct MapInputs {
    staging: StagingRoot,
    permits: Arc<Semaphore>,
}

impl MapInputs {
    /// For the staging directories of these settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { staging: StagingRoot::new(settings), permits: Arc::new(Semaphore::new(READS_AT_ONE_TIME)) }
    }

    /// Adds its input to each attempt that comes with the offset of its split, as far as the file can be read.
    pub(crate) async fn add_to(
        &self,
        job: JobId,
        user: &str,
        submit_dir: String,
        attempts: Vec<(TaskAttempt, Option<i64>)>,
    ) -> Vec<TaskAttempt> {
        let offsets: Vec<Option<i64>> = attempts.iter().map(|(_, offset)| *offset).collect();
        let inputs = match offsets.iter().any(Option::is_some) {
            true => timeout(READ_TIMEOUT, self.read(job, user.to_owned(), submit_dir, offsets)).await,
            false => Ok(None),
        };
        let mut inputs = inputs.ok().flatten().unwrap_or_default().into_iter();
        let with_input = |(attempt, _)| TaskAttempt { input: inputs.next().flatten(), ..attempt };
        attempts.into_iter().map(with_input).collect()
    }

    async fn read(
        &self,
        job: JobId,
        user: String,
        submit_dir: String,
        offsets: Vec<Option<i64>>,
    ) -> Option<Vec<Option<TaskInput>>> {
        let permit = self.permits.clone().acquire_owned().await.ok()?;
        let staging = self.staging.clone();
        let read = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let directory = staging.open(&user, job, &submit_dir).ok()?;
            let splits = directory.read(SPLITS, MAX_SPLITS_BYTES).ok()?;
            Some(offsets.into_iter().map(|offset| input_at(&splits, offset?)).collect())
        });
        read.await.ok().flatten()
    }
}

fn input_at(splits: &[u8], offset_bytes: i64) -> Option<TaskInput> {
    let split = read_file_split(splits, usize::try_from(offset_bytes).ok()?).ok()?;
    Some(TaskInput { file: split.path, start_bytes: split.start_bytes, length_bytes: split.length_bytes })
}
