//! Errors of the job client.

use crate::client::http_request::HttpError;
use crate::config::{ConfigError, JobConfError};
use crate::fs::{EntryOwner, FileUriError, FsError, ScriptFault};
use crate::ipc::client::IpcError;
use crate::model::{AttemptId, JobId};
use crate::streaming::plan::UnsupportedJob;

use super::cache::CacheError;
use super::classes::UnknownClass;
use super::computed::DroppedProperty;
use super::configuration::JobXmlError;
use super::earlier_output::OverwriteError;
use super::input::InputError;
use super::jar::JarError;
use super::split::TooManySplits;

/// Why a call of the job client failed.
#[derive(Debug, thiserror::Error)]
pub enum JobClientError {
    /// The JobTracker cannot be reached or does not answer.
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
        /// The attempt.
        attempt: AttemptId,
        /// The tracker's address.
        tracker: String,
        /// What went wrong.
        reason: String,
    },
    /// Access denied.
    #[error("{0}")]
    Denied(String),
    /// The JobTracker refused the call.
    #[error("{0}")]
    Refused(String),
    /// The JobTracker knows no such job.
    #[error("the JobTracker knows no job {0}")]
    UnknownJob(JobId),
    /// Neither a completion event of the attempt nor the list of running ones gives the address of its log.
    #[error("{0} is unknown; expected an attempt of `jobtracker job tasks`")]
    UnknownAttempt(AttemptId),
    /// The input cannot be used.
    #[error("{0}")]
    Input(#[from] InputError),
    /// A program that the job brings cannot be started.
    #[error("{0}")]
    Script(ScriptFault),
    /// The jar cannot be created.
    #[error("{0}")]
    Jar(#[from] JarError),
    /// A file cannot be read or written.
    #[error("{0}")]
    File(#[from] FsError),
    /// A configured value cannot be used.
    #[error("{0}")]
    Configuration(#[from] ConfigError),
    /// A file of the distributed cache cannot be used.
    #[error("{0}")]
    Cache(#[from] CacheError),
    /// A class that no worker has.
    #[error("{0}")]
    Class(#[from] Box<UnknownClass>),
    /// A value that the JobTracker would refuse.
    #[error("{0}")]
    JobConf(#[from] Box<JobConfError>),
    /// A value with which no worker could run the job.
    #[error("{0}")]
    Unsupported(#[from] Box<UnsupportedJob>),
    /// A value of `-D` would be dropped.
    #[error("{0}")]
    Dropped(#[from] DroppedProperty),
    /// A value cannot be written to job.xml.
    #[error("{0}")]
    JobXml(#[from] JobXmlError),
    /// The input has too many splits.
    #[error("{0}")]
    Splits(#[from] TooManySplits),
    /// The output directory exists.
    #[error("--output {0} exists already; expected a new directory, or --overwrite if a job wrote it")]
    OutputExists(String),
    /// It cannot be seen whether the output directory exists.
    #[error("--output: cannot look at {path}: {source}; expected a new directory in one that you may write to")]
    Output {
        /// The path.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The output directory is not replaced.
    #[error("--overwrite: {0}")]
    Overwrite(#[from] OverwriteError),
    /// The JobTracker's staging area is on an unsupported file system.
    #[error("the JobTracker's staging area: {0}")]
    StagingArea(#[from] FileUriError),
    /// Another user owns the staging area.
    #[error("the staging area {path} belongs to {owner}, not to {user}; its owner could change the job")]
    ForeignStagingArea {
        /// Its path.
        path: String,
        /// Its owner.
        owner: EntryOwner,
        /// The submitter.
        user: String,
    },
    /// The staging directory cannot be used, and the files cannot be handed over either.
    #[error(
        "{staging}; nor can the files be handed over by HTTP: {reason} (--server, mapred.job.tracker.http.address)"
    )]
    NoWay {
        /// What is wrong with the staging directory.
        staging: Box<JobClientError>,
        /// Why the JobTracker does not take the files.
        reason: String,
    },
    /// A file could not be handed over.
    #[error(
        "{name} cannot be handed over to the JobTracker at {server}: {reason} (--server, mapred.job.tracker.http.address)"
    )]
    NotHandedOver {
        /// Its name.
        name: String,
        /// `host:port`.
        server: String,
        /// What went wrong.
        reason: String,
    },
    /// The JobTracker's answer has an unexpected type.
    #[error("the JobTracker's answer to {0} has an unexpected type")]
    Answer(&'static str),
}

impl JobClientError {
    /// Converts an error of the connection to `jobtracker`.
    pub(super) fn of(error: IpcError, jobtracker: &str) -> Self {
        let unreachable = |reason: String| Self::Unreachable { jobtracker: jobtracker.to_owned(), reason };
        let IpcError::Remote { exception, .. } = error else { return unreachable(error.to_string()) };
        let is =
            |class: &str| exception.class.ends_with(class) || exception.message.starts_with(&exception_name(class));
        let text = first_words(&exception.message).to_owned();
        let text = if text.is_empty() { exception.class.clone() } else { with_key_of_list(text) };
        if is("JobTrackerNotYetInitializedException") {
            unreachable(text)
        } else if is("AccessControlException") || is("AuthorizationException") {
            Self::Denied(text)
        } else {
            Self::Refused(text)
        }
    }

    pub(super) fn of_log(error: &HttpError, attempt: AttemptId, tracker: &str) -> Self {
        Self::Log { attempt, tracker: tracker.to_owned(), reason: error.to_string() }
    }

    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}

/// Full class name of a security exception, which begins the text of a wrapped one.
fn exception_name(class: &str) -> String {
    format!("org.apache.hadoop.security.{class}")
}

/// The first line of a Java exception's text, without leading class names.
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

/// A denial by a queue's access list names the key of the list in place of Hadoop's command, which this program has not.
pub(crate) fn with_key_of_list(text: String) -> String {
    let Some((denial, _)) = text.split_once("Please run \"hadoop queue -showacls\"") else { return text };
    let denial = denial.trim_end().trim_end_matches('.');
    let queue = denial.rsplit(" on queue ").next().unwrap_or_default();
    format!("{denial}: mapred.queue.{queue}.acl-submit-job, in the JobTracker's mapred-queue-acls.xml, names who may")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::protocol::RemoteException;

    fn error_of(class: &str, message: &str) -> JobClientError {
        let exception = RemoteException { class: class.to_owned(), message: message.to_owned() };
        JobClientError::of(IpcError::Remote { exception, fatal: false }, "h:1")
    }

    #[test]
    fn texts_of_java_exceptions_are_shortened() {
        let io = "java.io.IOException";
        let text =
            error_of(io, "java.io.IOException: java.io.IOException: Queue \"x\" does not exist\n\tat a.b(C.java:1)");
        assert!(matches!(&text, JobClientError::Refused(text) if text == "Queue \"x\" does not exist"), "{text:?}");
        let denied = error_of("org.apache.hadoop.security.AccessControlException", "ACCESS DENIED: queue \"a\"");
        assert!(matches!(&denied, JobClientError::Denied(text) if text == "ACCESS DENIED: queue \"a\""), "{denied:?}");
        let text = "User rolf cannot perform operation SUBMIT_JOB on queue research.\n Please run \"hadoop queue -showacls\" command to find";
        assert_eq!(
            with_key_of_list(text.to_owned()),
            "User rolf cannot perform operation SUBMIT_JOB on queue research: mapred.queue.research.acl-submit-job, in the \
             JobTracker's mapred-queue-acls.xml, names who may"
        );
        let waits = error_of("org.apache.hadoop.mapred.JobTrackerNotYetInitializedException", "");
        assert!(waits.is_unreachable(), "{waits:?}");
        assert!(JobClientError::of(IpcError::Closed, "h:1").is_unreachable());
    }
}
