//! Why a job client got no further.

use crate::client::market::http::HttpError;
use crate::config::ConfigError;
use crate::fs::{FileUriError, FsError};
use crate::ipc::client::IpcError;
use crate::model::{AttemptId, JobId};

use super::input::InputError;
use super::jar::JarError;
use super::job_xml::JobXmlError;
use super::split::TooManySplits;

/// Why a job client got no further.
#[derive(Debug, thiserror::Error)]
pub enum JobClientError {
    /// There is no JobTracker, or it does not answer.
    #[error("the JobTracker at {jobtracker} cannot be reached: {reason}")]
    Unreachable {
        /// `host:port`.
        jobtracker: String,
        /// What went wrong.
        reason: String,
    },
    /// A tracker with a log does not answer.
    #[error("the log of {attempt} at {tracker} cannot be read: {reason}")]
    Log {
        /// Whose log.
        attempt: AttemptId,
        /// The tracker's address.
        tracker: String,
        /// What went wrong.
        reason: String,
    },
    /// Not allowed.
    #[error("{0}")]
    Denied(String),
    /// Refused for what was asked.
    #[error("{0}")]
    Refused(String),
    /// The JobTracker knows no such job.
    #[error("the JobTracker knows no job {0}")]
    UnknownJob(JobId),
    /// Nothing is known of the attempt that could lead to its log.
    #[error("{0} has not ended, or is no attempt of its job: where it runs is told when it ends")]
    UnknownAttempt(AttemptId),
    /// The input cannot be used.
    #[error("{0}")]
    Input(#[from] InputError),
    /// The jar cannot be made.
    #[error("{0}")]
    Jar(#[from] JarError),
    /// A file cannot be read or written.
    #[error("{0}")]
    File(#[from] FsError),
    /// A configured value cannot be used.
    #[error("{0}")]
    Configuration(#[from] ConfigError),
    /// A value cannot be written down.
    #[error("{0}")]
    JobXml(#[from] JobXmlError),
    /// The input is cut too fine.
    #[error("{0}")]
    Splits(#[from] TooManySplits),
    /// The output is there already.
    #[error("--output {0} exists already; a job writes to a folder of its own")]
    OutputExists(String),
    /// The JobTracker keeps submitted files where this client cannot write.
    #[error("the JobTracker's staging area: {0}")]
    StagingArea(#[from] FileUriError),
    /// Somebody else owns the staging area.
    #[error(
        "the staging area {path} belongs to user number {owner}, not to {user}; whoever owns it could change the job"
    )]
    ForeignStagingArea {
        /// Where it is.
        path: String,
        /// Its owner.
        owner: u32,
        /// Who submits.
        user: String,
    },
    /// A JobTracker that answers something else than was asked.
    #[error("the JobTracker's answer to {0} makes no sense")]
    Answer(&'static str),
}

// === impl JobClientError ===

impl JobClientError {
    /// What an error of the connection to `jobtracker` means.
    pub(super) fn of(error: IpcError, jobtracker: &str) -> Self {
        let unreachable = |reason: String| Self::Unreachable { jobtracker: jobtracker.to_owned(), reason };
        let IpcError::Remote { exception, .. } = error else { return unreachable(error.to_string()) };
        let is =
            |class: &str| exception.class.ends_with(class) || exception.message.starts_with(&exception_name(class));
        let text = first_words(&exception.message).to_owned();
        let text = if text.is_empty() { exception.class.clone() } else { text };
        if is("JobTrackerNotYetInitializedException") {
            unreachable(text)
        } else if is("AccessControlException") || is("AuthorizationException") {
            Self::Denied(text)
        } else {
            Self::Refused(text)
        }
    }

    /// What an error of a request for a log means.
    pub(super) fn of_log(error: &HttpError, attempt: AttemptId, tracker: &str) -> Self {
        Self::Log { attempt, tracker: tracker.to_owned(), reason: error.to_string() }
    }

    /// Whether the JobTracker may answer later.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}

/// How Java begins the text of an exception of Hadoop's security.
fn exception_name(class: &str) -> String {
    format!("org.apache.hadoop.security.{class}")
}

/// The first line of a Java exception's text without the classes in front.
fn first_words(message: &str) -> &str {
    let mut line = message.lines().next().unwrap_or_default();
    while let Some((class, rest)) = line.split_once(": ") {
        let is_class = class.contains('.') && !class.contains(' ');
        if !is_class || !["Exception", "Error", "Throwable"].iter().any(|end| class.ends_with(end)) {
            break;
        }
        line = rest;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::protocol::RemoteException;

    fn said(class: &str, message: &str) -> JobClientError {
        let exception = RemoteException { class: class.to_owned(), message: message.to_owned() };
        JobClientError::of(IpcError::Remote { exception, fatal: false }, "h:1")
    }

    #[test]
    fn what_java_says_is_cut_to_what_people_read() {
        let io = "java.io.IOException";
        let text = said(io, "java.io.IOException: java.io.IOException: Queue \"x\" does not exist\n\tat a.b(C.java:1)");
        assert!(matches!(&text, JobClientError::Refused(text) if text == "Queue \"x\" does not exist"), "{text:?}");
        let denied = said("org.apache.hadoop.security.AccessControlException", "ACCESS DENIED: queue \"a\"");
        assert!(matches!(&denied, JobClientError::Denied(text) if text == "ACCESS DENIED: queue \"a\""), "{denied:?}");
        let waits = said("org.apache.hadoop.mapred.JobTrackerNotYetInitializedException", "");
        assert!(waits.is_unreachable(), "{waits:?}");
        assert!(JobClientError::of(IpcError::Closed, "h:1").is_unreachable());
    }
}
