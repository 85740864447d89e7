//! Job, task and attempt ids: small `Copy` values that print as Hadoop prints them.

use std::fmt;
use std::str::FromStr;

use crate::model::Kind;

/// The part of an id that distinguishes one JobTracker's jobs from another's: 1 to 19 decimal digits, leading zeros kept.
///
/// Hadoop allows any text but parses ids by splitting at `_` and history file names by digits only, so only digits are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Identifier {
    value: u64,
    digits: u8,
}

/// `job_<identifier>_<number>`, the number printed with at least four digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId {
    /// The run of a JobTracker that assigned it.
    pub identifier: Identifier,
    /// From 1 in each run.
    pub number: i32,
}

/// `task_<identifier>_<job>_<m|r>_<number>`: one logical task of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    pub job: JobId,
    pub kind: Kind,
    /// Index within the job and kind; job cleanup is the count of tasks, job setup the count + 1.
    pub number: i32,
}

/// `attempt_<identifier>_<job>_<m|r>_<task>_<number>`: one run of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AttemptId {
    pub task: TaskId,
    /// From 0; never used twice for one task.
    pub number: i32,
}

/// A text that is not a valid id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct IdError {
    pub(crate) text: String,
    pub(crate) expected: &'static str,
}

impl Identifier {
    /// Longest identifier, digits: always fits a `u64`.
    pub(crate) const MAX_DIGITS: usize = 19;

    /// An identifier from a number, without leading zeros. Values of 20 digits are cut to the lower 19.
    pub fn from_number(number: u64) -> Self {
        let value = number % 10_u64.pow(Self::MAX_DIGITS as u32);
        let digits = value.checked_ilog10().unwrap_or(0) as u8 + 1;
        Self { value, digits }
    }

    pub(crate) fn digits(self) -> u8 {
        self.digits
    }

    pub(crate) fn number(self) -> u64 {
        self.value
    }
}

impl FromStr for Identifier {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let error = || IdError { text: text.to_owned(), expected: "an identifier of 1 to 19 digits" };
        if text.is_empty() || text.len() > Self::MAX_DIGITS || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(error());
        }
        Ok(Self { value: text.parse().map_err(|_| error())?, digits: text.len() as u8 })
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0width$}", self.value, width = usize::from(self.digits))
    }
}

impl JobId {
    pub fn new(identifier: Identifier, number: i32) -> Self {
        Self { identifier, number }
    }

    /// The task of this job with that kind and index.
    pub fn task(self, kind: Kind, number: i32) -> TaskId {
        TaskId { job: self, kind, number }
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job_{}_{:04}", self.identifier, self.number)
    }
}

impl FromStr for JobId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let error = || IdError { text: text.to_owned(), expected: "a job id such as job_202601010000_0001" };
        let rest = text.strip_prefix("job_").ok_or_else(error)?;
        let (identifier, number) = rest.split_once('_').ok_or_else(error)?;
        Ok(Self::new(identifier.parse().map_err(|_| error())?, plain_number(number).ok_or_else(error)?))
    }
}

impl TaskId {
    pub fn attempt(self, number: i32) -> AttemptId {
        AttemptId { task: self, number }
    }

    fn fmt_tail(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Map => 'm',
            Kind::Reduce => 'r',
        };
        write!(f, "{}_{:04}_{kind}_{:06}", self.job.identifier, self.job.number, self.number)
    }

    fn parse_tail(text: &str) -> Option<(Self, Option<&str>)> {
        let mut parts = text.splitn(5, '_');
        let identifier = parts.next()?.parse().ok()?;
        let job = JobId::new(identifier, plain_number(parts.next()?)?);
        let kind = match parts.next()? {
            "m" => Kind::Map,
            "r" => Kind::Reduce,
            _ => return None,
        };
        let number = plain_number(parts.next()?)?;
        Some((job.task(kind, number), parts.next()))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task_")?;
        self.fmt_tail(f)
    }
}

impl FromStr for TaskId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match text.strip_prefix("task_").and_then(Self::parse_tail) {
            Some((task, None)) => Ok(task),
            _ => Err(IdError { text: text.to_owned(), expected: "a task id such as task_202601010000_0001_m_000000" }),
        }
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("attempt_")?;
        self.task.fmt_tail(f)?;
        write!(f, "_{}", self.number)
    }
}

impl FromStr for AttemptId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let parsed = text.strip_prefix("attempt_").and_then(TaskId::parse_tail).and_then(|(task, number)| {
            let number = plain_number(number?)?;
            Some(task.attempt(number))
        });
        parsed.ok_or_else(|| IdError {
            text: text.to_owned(),
            expected: "an attempt id such as attempt_202601010000_0001_m_000000_0",
        })
    }
}

/// Digits only: `+1`, `-1` and blanks are invalid.
fn plain_number(text: &str) -> Option<i32> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Ids that print and parse are texts to serde.
macro_rules! string_conversions {
    ($($id:ty),*) => {$(
        impl TryFrom<String> for $id {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$id> for String {
            fn from(id: $id) -> String {
                id.to_string()
            }
        }
    )*};
}

string_conversions!(Identifier, JobId, AttemptId);

pub(super) use string_conversions;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_print_and_parse_as_hadoop_does() {
        let job: JobId = "job_202611210913_0007".parse().unwrap();
        assert_eq!(job.to_string(), "job_202611210913_0007");
        let attempt = job.task(Kind::Reduce, 12).attempt(3);
        assert_eq!(attempt.to_string(), "attempt_202611210913_0007_r_000012_3");
        assert_eq!(attempt.to_string().parse::<AttemptId>().unwrap(), attempt);
        assert_eq!(attempt.task.to_string().parse::<TaskId>().unwrap(), attempt.task);
        assert_eq!(JobId::new(job.identifier, 12345).to_string(), "job_202611210913_12345");
    }

    #[test]
    fn leading_zeros_of_an_identifier_stay() {
        let identifier: Identifier = "0012".parse().unwrap();
        assert_eq!(identifier.to_string(), "0012");
        assert_ne!(identifier, Identifier::from_number(12));
    }

    #[test]
    fn invalid_ids_are_named_in_the_error() {
        for text in
            ["", "job_", "job_x_1", "job_1_-1", "job_1_+1", "job_1", "task_1_1_m_1", "job_12345678901234567890_1"]
        {
            let error = text.parse::<JobId>().unwrap_err();
            assert_eq!(error.text, text);
        }
        assert!("attempt_1_0001_x_000001_0".parse::<AttemptId>().is_err());
        assert!("task_1_0001_m_000001_0".parse::<TaskId>().is_err());
    }
}
