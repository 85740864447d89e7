//! Reports: what users, queues or jobs used in a stretch of time, and what it cost.

use serde::{Deserialize, Serialize};

use crate::model::Credits;

/// What a row stands for; its member in JSON has the name of the kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReportSubject {
    User(String),
    Queue(String),
    /// A job or an application, [`ReportSubject::OTHER`] or [`ReportSubject::ALL`].
    Job(String),
}

/// What one user, queue, job or application used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportRow {
    /// The month of the row in a report by month, such as 2026-11.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) month: Option<String>,
    /// What the row stands for.
    #[serde(flatten)]
    pub(crate) subject: ReportSubject,
    /// Of a single job or application, or of all of a user's in a queue in a month.
    #[serde(default, flatten)]
    pub(crate) work: Option<WorkRow>,
    /// Jobs and applications that ended in the range, and those that have not ended where the range includes the present.
    pub(crate) jobs: u64,
    /// Slots for maps times the seconds that their attempts ran, of all attempts of these jobs.
    pub(crate) map_slot_seconds: u64,
    pub(crate) reduce_slot_seconds: u64,
    /// Slots that containers stand for times the seconds from their grant to their end.
    #[serde(default)]
    pub(crate) container_slot_seconds: u64,
    /// Seconds from submission to the launch of the first task or the grant of the first container, of all of them.
    pub(crate) waited_s: u64,
    pub(crate) failed: u64,
    /// Credits. For users and queues what their accounts were charged in the range; for a job or an application all that it
    /// has cost.
    pub(crate) charged: Credits,
}

/// Whose work a row is, and of a single job or application its times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkRow {
    pub(crate) user: String,
    pub(crate) queue: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    /// `PREP`, `RUNNING`, `SUCCEEDED`, `FAILED` or `KILLED`; of an application that is not over also `ACCEPTED`. Empty in a
    /// report by month.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) submit_ms: Option<i64>,
    /// When its first task was launched or its first container granted, epoch ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) end_ms: Option<i64>,
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
    /// Only where there are more jobs and applications than an answer has: ask for those after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

impl ReportSubject {
    /// In place of a job, in a report by month: all of the user in the queue in the month.
    pub(crate) const ALL: &'static str = "*";

    /// In place of a job: the charges of the range that are not those of the jobs shown. With them the sum of `charged` is
    /// what the ledger was charged in the range. Below zero if jobs shown have paid more outside the range.
    pub(crate) const OTHER: &'static str = "other";

    /// The name of the member and of the column.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            ReportSubject::User(_) => "user",
            ReportSubject::Queue(_) => "queue",
            ReportSubject::Job(_) => "job",
        }
    }

    pub(crate) fn name(&self) -> &str {
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
            month: None,
            subject: ReportSubject::Queue("alice".to_owned()),
            work: None,
            jobs: 2,
            map_slot_seconds: 3,
            reduce_slot_seconds: 4,
            container_slot_seconds: 6,
            waited_s: 5,
            failed: 1,
            charged: "0.5".parse().unwrap(),
        };
        let text = serde_json::to_string(&row).unwrap();
        let expected = r#"{"queue":"alice","jobs":2,"map_slot_seconds":3,"reduce_slot_seconds":4,"container_slot_seconds":6,"waited_s":5,"failed":1,"charged":"0.5"}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<ReportRow>(&text).unwrap(), row);
        let work = WorkRow { user: "alice".to_owned(), queue: "q".to_owned(), end_ms: Some(5), ..WorkRow::default() };
        let row = ReportRow { subject: ReportSubject::Job("job_1_0001".to_owned()), work: Some(work), ..row };
        let text = serde_json::to_string(&row).unwrap();
        assert!(text.starts_with(r#"{"job":"job_1_0001","user":"alice","queue":"q","end_ms":5,"jobs":2,"#), "{text}");
        assert_eq!(serde_json::from_str::<ReportRow>(&text).unwrap(), row);
    }
}
