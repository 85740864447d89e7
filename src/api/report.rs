//! Reports: what users, queues or jobs used in a stretch of time, and what it cost.

use serde::{Deserialize, Serialize};

use crate::model::Credits;

/// What a row stands for; its member in JSON has the name of the kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportSubject {
    /// A user.
    User(String),
    /// A queue.
    Queue(String),
    /// A job, or [`ReportSubject::OTHER`].
    Job(String),
}

/// What one user, queue or job used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportRow {
    /// What the row stands for.
    #[serde(flatten)]
    pub subject: ReportSubject,
    /// Jobs that ended in the range, and those that have not ended where the range includes the present.
    pub jobs: u64,
    /// Slots for maps times the seconds that their attempts ran, of all attempts of these jobs.
    pub map_slot_seconds: u64,
    /// The same of slots for reduces.
    pub reduce_slot_seconds: u64,
    /// Seconds from submission to the launch of the first task, of all these jobs.
    pub waited_s: u64,
    /// How many of the jobs failed.
    pub failed: u64,
    /// Credits. For users and queues what their accounts were charged in the range; for a job all that it has cost.
    pub charged: Credits,
}

/// A report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// `users`, `queues` or `jobs`.
    pub report: String,
    /// Start of the range, epoch ms; absent: the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    /// End of the range, epoch ms, not included; absent: all that there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
    /// By name; jobs by when they were accepted.
    pub rows: Vec<ReportRow>,
    /// Only where jobs were removed: from this time on all that ended are there, epoch ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete_since_ms: Option<i64>,
    /// Only where the ledger has daily sums: these count where the last movement of their day does, and this is the last
    /// one of all, epoch ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_until_ms: Option<i64>,
    /// Only where there are more jobs than a report shows: how many are not there, the ones that were accepted first. What
    /// they cost is in the row of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u64>,
}

// === impl ReportSubject ===

impl ReportSubject {
    /// In place of a job: the charges of the range that are not those of the jobs shown. With them the sum of `charged` is
    /// what the ledger was charged in the range. Below zero if jobs shown have paid more outside the range.
    pub const OTHER: &'static str = "other";

    /// The name of the member and of the column.
    pub const fn kind(&self) -> &'static str {
        match self {
            ReportSubject::User(_) => "user",
            ReportSubject::Queue(_) => "queue",
            ReportSubject::Job(_) => "job",
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            ReportSubject::User(name) | ReportSubject::Queue(name) | ReportSubject::Job(name) => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_member_has_the_name_of_the_kind() {
        let row = ReportRow {
            subject: ReportSubject::Queue("alice".to_owned()),
            jobs: 2,
            map_slot_seconds: 3,
            reduce_slot_seconds: 4,
            waited_s: 5,
            failed: 1,
            charged: "0.5".parse().unwrap(),
        };
        let text = serde_json::to_string(&row).unwrap();
        let expected = r#"{"queue":"alice","jobs":2,"map_slot_seconds":3,"reduce_slot_seconds":4,"waited_s":5,"failed":1,"charged":"0.5"}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<ReportRow>(&text).unwrap(), row);
    }
}
