//! The attempts of a job as `/scheduler/tasks` lists them, and the times of jobs as `/scheduler/jobs` does.

use serde::{Deserialize, Serialize};

use crate::model::{AttemptId, JobId};

/// A job with its attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobTasks {
    pub(crate) job: JobId,
    /// Its state, in Hadoop's spelling.
    pub(crate) state: String,
    pub(crate) user: String,
    /// Its output folder; none if it names none, or was submitted to an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<String>,
    /// Its attempts: setup, maps, reduces, cleanup, each by number.
    pub(crate) attempts: Vec<TaskAttempt>,
    /// What `from` must be to ask for the attempts after these; none: these are the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TaskAttempt {
    pub(crate) attempt: AttemptId,
    /// `setup`, `map`, `reduce` or `cleanup`.
    pub(crate) task: String,
    /// Its state, in Hadoop's spelling; `UNASSIGNED` until its worker has reported it.
    pub(crate) state: String,
    /// Its worker, by the name it was given, else by that of its tracker; none if that is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<String>,
    /// `http://HOST:PORT` of its worker, which has its logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) http: Option<String>,
    /// What a map reads; none for other tasks, for jobs that have ended and where the split names no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<TaskInput>,
    pub(crate) since_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finish_ms: Option<i64>,
    pub(crate) percent: u32,
    pub(crate) status: String,
    /// Why it ended so, in the words of its worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) diagnostics: Option<String>,
}

impl TaskAttempt {
    pub(crate) const DIAGNOSTICS_BYTES: usize = 4 << 10;

    /// About as many bytes as it has in an answer.
    pub(crate) fn shown_bytes(&self) -> usize {
        let http = self.http.as_ref().map_or(0, String::len);
        256 + http + self.status.len() + self.diagnostics.as_ref().map_or(0, String::len)
    }

    /// Diagnostics as they are shown: cut, and none if there are none.
    pub(crate) fn shown_diagnostics(mut text: String) -> Option<String> {
        text.truncate(text.floor_char_boundary(Self::DIAGNOSTICS_BYTES));
        Some(text).filter(|text| !text.is_empty())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskInput {
    pub(crate) file: String,
    pub(crate) start_bytes: i64,
    pub(crate) length_bytes: i64,
}

/// When a job was submitted and ended, and its cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobTimes {
    pub job: JobId,
    /// When it was submitted, epoch ms.
    pub submit_ms: i64,
    /// When it ended, epoch ms; none while it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_ms: Option<i64>,
    /// Its cost up to the last tick; none unless a market rules and the caller may see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// How often its owner was called in vain at its end, and why; none: it was reached, or no URL is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_notification: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobTimesList {
    /// When this was so, epoch ms.
    pub(crate) at_ms: i64,
    /// Whether a market rules, so that jobs have costs.
    pub(crate) is_market_ruling: bool,
    /// The newest jobs, newest first; at most 500.
    pub(crate) jobs: Vec<JobTimes>,
}

/// What a worker takes as `expires` and `ticket` beside the `attemptid` at `/tasklog`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogTicket {
    /// The attempt.
    pub attempt: AttemptId,
    /// Until when it is valid, epoch ms.
    pub expires_ms: i64,
    /// 64 hexadecimal digits.
    pub ticket: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_are_cut_between_characters_and_absent_where_there_are_none() {
        assert_eq!(TaskAttempt::shown_diagnostics(String::new()), None);
        assert_eq!(TaskAttempt::shown_diagnostics("uid 7 is refused".to_owned()).as_deref(), Some("uid 7 is refused"));
        assert_eq!(TaskAttempt::shown_diagnostics("\u{20ac}".repeat(2_000)).unwrap().len(), 4_095);
    }
}
