//! The attempts of a job, a page at a time: between two pages the owner processes other events. Each page shows the state when it
//! was made.

use crate::api::TaskAttempt;
use crate::engine::core::{Engine, Read};
use crate::engine::state::{Caller, Refusal};
use crate::mapreduce::{Attempt, Job, TaskKey};
use crate::model::{FactNumber, JobId, Kind};
use crate::wire::worker_name;

use super::long_read::{SLICE_BYTES, SLICE_ITEMS, SLICE_LOOKS};

/// Where the next page begins: setup, maps, reduces, cleanup, counted through; and how many attempts of that task were shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskCursor(pub(crate) u64);

/// Bits of a cursor that count attempts of a task. Cursors grow, and are whole in the numbers of JSON.
const SHOWN_BITS: u32 = 20;

/// A page of the attempts of a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TaskPage {
    /// The state of the job, in Hadoop's spelling.
    pub(crate) state: &'static str,
    pub(crate) user: String,
    /// Its output folder.
    pub(crate) output: Option<String>,
    /// Its staging directory, which exists until the job has ended.
    pub(crate) submit_dir: String,
    pub(crate) is_over: bool,
    /// Whether its attempts are in the store alone; there are none on the page then.
    pub(crate) is_in_store_alone: bool,
    /// Attempts; maps with the offset of their split in job.split, bytes.
    pub(crate) attempts: Vec<(TaskAttempt, Option<i64>)>,
    /// Where the next page begins; none after the last.
    pub(crate) next: Option<TaskCursor>,
}

impl Engine {
    /// A page of the attempts of a job, or of those that have not ended; none for an unknown job. The job's
    /// access lists must let a `viewer` see its details.
    pub(crate) fn task_page(
        &self,
        id: JobId,
        is_running_only: bool,
        viewer: Option<&Caller>,
        from: TaskCursor,
    ) -> Result<Read<Option<TaskPage>>, Refusal> {
        if let Some(viewer) = viewer {
            self.check_view_details(id, viewer)?;
        }
        let Some(job) = self.jobs.get(id) else {
            return Ok(Read { value: None, wait_for: FactNumber::default() });
        };
        let mut page = TaskPage {
            state: job.reported_state().name(),
            user: job.spec.user.clone(),
            output: job.spec.output.clone(),
            submit_dir: job.spec.submit_dir.clone(),
            is_over: job.is_end_reported(),
            is_in_store_alone: job.is_without_tasks(),
            attempts: Vec::new(),
            next: None,
        };
        if job.has_begun() && !page.is_in_store_alone {
            page.next = self.fill_page(job, is_running_only, from, &mut page.attempts);
        }
        Ok(Read { value: Some(page), wait_for: job.last_fact })
    }

    fn fill_page(
        &self,
        job: &Job,
        is_running_only: bool,
        from: TaskCursor,
        attempts: &mut Vec<(TaskAttempt, Option<i64>)>,
    ) -> Option<TaskCursor> {
        let (mut position, mut shown) = (from.position(), from.shown());
        let mut bytes = 0;
        for _ in 0..SLICE_LOOKS {
            let key = key_at(job, position)?;
            for attempt in job.task(key).attempts.iter().skip(shown) {
                if attempts.len() >= SLICE_ITEMS as usize || bytes >= SLICE_BYTES {
                    return Some(TaskCursor::new(position, shown));
                }
                shown += 1;
                if !(is_running_only && attempt.state.is_over()) {
                    let row = self.task_attempt(job, key, attempt);
                    bytes += row.shown_bytes();
                    attempts.push((row, split_offset(job, key)));
                }
            }
            (position, shown) = (position + 1, 0);
        }
        key_at(job, position).map(|_| TaskCursor::new(position, shown))
    }

    fn task_attempt(&self, job: &Job, key: TaskKey, attempt: &Attempt) -> TaskAttempt {
        let tracker = self.cluster.nodes.get(attempt.cleanup_tracker.unwrap_or(attempt.tracker));
        TaskAttempt {
            attempt: job.task_id(key).attempt(attempt.number),
            task: task_word(key).to_owned(),
            state: attempt.state.name().to_owned(),
            worker: tracker.map(|tracker| worker_name(&tracker.name).to_owned()),
            http: tracker.map(|tracker| tracker.http.to_string()),
            input: None,
            since_ms: attempt.launch_ms,
            finish_ms: (attempt.finish_ms > 0).then_some(attempt.finish_ms),
            percent: attempt.percent(),
            status: attempt.state_text.clone(),
            diagnostics: TaskAttempt::shown_diagnostics(attempt.diagnostics.joined()),
        }
    }
}

impl TaskCursor {
    const fn new(position: u64, shown: usize) -> Self {
        Self(position << SHOWN_BITS | shown as u64)
    }

    /// Behind so many tasks, or so many attempts of a job that only the store has.
    pub(crate) const fn behind(count: u64) -> Self {
        Self::new(count, 0)
    }

    pub(crate) const fn position(self) -> u64 {
        self.0 >> SHOWN_BITS
    }

    const fn shown(self) -> usize {
        (self.0 & ((1 << SHOWN_BITS) - 1)) as usize
    }
}

/// The task at a position; none after the last.
fn key_at(job: &Job, position: u64) -> Option<TaskKey> {
    let total = job.total();
    let (maps, reduces) = (u64::from(total.map), u64::from(total.reduce));
    let number = |first: u64| u32::try_from(position - first).unwrap_or(u32::MAX);
    Some(match position {
        0 => TaskKey::Setup(Kind::Map),
        1 => TaskKey::Setup(Kind::Reduce),
        _ if position < 2 + maps => TaskKey::Work(Kind::Map, number(2)),
        _ if position < 2 + maps + reduces => TaskKey::Work(Kind::Reduce, number(2 + maps)),
        _ if position == 2 + maps + reduces => TaskKey::Cleanup(Kind::Map),
        _ if position == 3 + maps + reduces => TaskKey::Cleanup(Kind::Reduce),
        _ => return None,
    })
}

fn split_offset(job: &Job, key: TaskKey) -> Option<i64> {
    let TaskKey::Work(Kind::Map, number) = key else { return None };
    job.splits.splits().get(number as usize).map(|split| split.offset_bytes)
}

const fn task_word(key: TaskKey) -> &'static str {
    match key {
        TaskKey::Work(Kind::Map, _) => "map",
        TaskKey::Work(Kind::Reduce, _) => "reduce",
        TaskKey::Setup(_) => "setup",
        TaskKey::Cleanup(_) => "cleanup",
    }
}
