//! The rows of the start page's tables, as text.

use crate::api::{PoolShares, ReportedGroup};
use crate::engine::{JobSnapshot, QueueSnapshot, TrackerSnapshot};
use crate::model::{PerKind, Priority, RunState};

use super::time_text::{format_duration, format_time};

/// Largest number of characters shown of a text that clients choose, such as a job's name.
const MAX_TEXT_CHARACTERS: usize = 120;

/// A number out of a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// How many.
    pub(super) of: u32,
    /// Out of how many.
    pub(super) whole: u32,
}

/// A row of the table of queues.
#[derive(Debug)]
pub(super) struct QueueRow {
    pub(super) name: String,
    pub(super) running: PerKind<u32>,
    pub(super) waiting: PerKind<u64>,
    pub(super) paused: String,
    pub(super) share: String,
}

/// A row of the table of pools.
#[derive(Debug)]
pub(super) struct PoolRow {
    pub(super) name: String,
    pub(super) running: PerKind<u32>,
    pub(super) waiting: PerKind<u32>,
    pub(super) share: PerKind<String>,
}

/// A row of the table of jobs.
#[derive(Debug)]
pub(super) struct JobRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) user: String,
    pub(super) queue: String,
    pub(super) priority: &'static str,
    pub(super) state: &'static str,
    pub(super) maps: Part,
    pub(super) reduces: Part,
    pub(super) running: PerKind<u32>,
    pub(super) submitted: String,
    pub(super) took: String,
    pub(super) cost: String,
    pub(super) failure: String,
}

/// A row of the table of trackers.
#[derive(Debug)]
pub(super) struct TrackerRow {
    pub(super) name: String,
    pub(super) worker: String,
    pub(super) host: String,
    /// Address of its own page, where it has one.
    pub(super) page: Option<String>,
    pub(super) rack: String,
    pub(super) maps: Part,
    pub(super) reduces: Part,
    pub(super) silent: String,
    pub(super) is_silent: bool,
    pub(super) is_draining: bool,
    pub(super) healthy: bool,
    pub(super) is_short: bool,
    pub(super) graylisted: bool,
    /// Why it is not healthy, or graylisted.
    pub(super) complaints: String,
}

// === impl Part ===

impl Part {
    /// Parts of wholes, maps then reduces.
    pub(super) fn pair(of: PerKind<u32>, whole: PerKind<u32>) -> (Part, Part) {
        (Part { of: of.map, whole: whole.map }, Part { of: of.reduce, whole: whole.reduce })
    }
}

// === impl QueueRow ===

impl QueueRow {
    /// The row of a queue.
    pub(super) fn new(queue: &QueueSnapshot) -> Self {
        QueueRow {
            name: cut(&queue.name),
            running: queue.running,
            waiting: queue.waiting,
            paused: cut(queue.paused.as_deref().unwrap_or_default()),
            share: queue.share.clone().unwrap_or_else(|| "–".to_owned()),
        }
    }
}

// === impl PoolRow ===

impl PoolRow {
    /// The row of a pool.
    pub(super) fn new(group: &ReportedGroup, pool: &PoolShares) -> Self {
        let share = pool.fair_share;
        PoolRow {
            name: cut(&group.name),
            running: group.held,
            waiting: group.waiting,
            share: PerKind::new(share.map.to_tenths(), share.reduce.to_tenths()),
        }
    }
}

// === impl JobRow ===

impl JobRow {
    /// The row of a job, as seen at a moment, epoch ms.
    pub(super) fn new(job: &JobSnapshot, at_ms: i64) -> Self {
        let (maps, reduces) = Part::pair(job.finished, job.tasks);
        let end_ms = job.finish_ms.unwrap_or(at_ms);
        JobRow {
            id: job.id.to_string(),
            name: cut(&job.name),
            user: cut(&job.user),
            queue: cut(&job.queue),
            priority: priority_name(job.priority),
            state: state_name(job.state),
            maps,
            reduces,
            running: job.running,
            submitted: format_time(job.submit_ms),
            took: format_duration(end_ms.saturating_sub(job.submit_ms)),
            cost: job.cost.clone().unwrap_or_else(|| "–".to_owned()),
            failure: cut(&job.failure_info),
        }
    }
}

// === impl TrackerRow ===

impl TrackerRow {
    /// The row of a tracker.
    pub(super) fn new(tracker: &TrackerSnapshot) -> Self {
        let (maps, reduces) = Part::pair(tracker.running, tracker.slots);
        let is_port = (1..=i32::from(u16::MAX)).contains(&tracker.http_port);
        TrackerRow {
            name: cut(&tracker.name),
            worker: cut(&tracker.worker),
            host: cut(&tracker.host),
            page: is_port.then(|| format!("http://{}:{}/", tracker.host, tracker.http_port)),
            rack: cut(&tracker.rack),
            maps,
            reduces,
            silent: format_duration(i64::try_from(tracker.silent_ms).unwrap_or(i64::MAX)),
            is_silent: tracker.is_silent,
            is_draining: tracker.is_draining,
            healthy: tracker.healthy,
            is_short: tracker.is_short,
            graylisted: tracker.graylisted,
            complaints: cut(&tracker.complaints),
        }
    }
}

fn priority_name(priority: Priority) -> &'static str {
    match priority {
        Priority::VeryHigh => "very high",
        Priority::High => "high",
        Priority::Normal => "normal",
        Priority::Low => "low",
        Priority::VeryLow => "very low",
    }
}

fn state_name(state: RunState) -> &'static str {
    match state {
        RunState::Running => "running",
        RunState::Succeeded => "succeeded",
        RunState::Failed => "failed",
        RunState::Prep => "preparing",
        RunState::Killed => "killed",
    }
}

/// A text cut to the length that tables show.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARACTERS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"ä".repeat(120)), "ä".repeat(120));
        assert_eq!(cut(&"ä".repeat(121)), format!("{}…", "ä".repeat(120)));
    }

    #[test]
    fn only_a_port_makes_a_link() {
        let tracker = |http_port| TrackerSnapshot {
            name: "t".to_owned(),
            worker: "t".to_owned(),
            host: "h".to_owned(),
            rack: "/r".to_owned(),
            http_port,
            slots: PerKind::new(2, 1),
            running: PerKind::new(1, 0),
            silent_ms: u64::MAX,
            is_silent: false,
            is_draining: false,
            healthy: true,
            is_short: false,
            graylisted: false,
            complaints: String::new(),
            ..TrackerSnapshot::default()
        };
        assert_eq!(TrackerRow::new(&tracker(50060)).page.as_deref(), Some("http://h:50060/"));
        for no_port in [-1, 0, 65_536] {
            assert_eq!(TrackerRow::new(&tracker(no_port)).page, None);
        }
    }
}
