//! Life cycles of applications and containers, by the names that reports use.

use serde::{Deserialize, Serialize};

use crate::model::named;

/// How far an application is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ApplicationState {
    /// It is known, and no program has registered for it. Unattended ones stay here until they end.
    Accepted,
    /// A program has registered.
    Running,
    /// It ended as it wanted; final.
    Finished,
    /// It fell silent, or its master did not live; final.
    Failed,
    /// It was killed; final.
    Killed,
}

/// How far a container is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ContainerState {
    /// It is granted; no answer has said so yet.
    Allocated,
    /// An answer has named it to its application.
    Acquired,
    /// It is to be launched; its worker has not said that it runs.
    Launching,
    /// Its worker says that it runs.
    Running,
    /// Nothing of it is left; final.
    Complete,
}

/// How an application ended, in reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ReportedFinalStatus {
    /// It is not over.
    #[default]
    Undefined,
    /// All went well.
    Succeeded,
    /// It did not.
    Failed,
    /// It was ended from outside.
    Killed,
}

named!(ApplicationState {
    Accepted = "ACCEPTED",
    Running = "RUNNING",
    Finished = "FINISHED",
    Failed = "FAILED",
    Killed = "KILLED",
});

impl ApplicationState {
    /// Whether it is final.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Killed)
    }
}

named!(ContainerState {
    Allocated = "ALLOCATED",
    Acquired = "ACQUIRED",
    Launching = "LAUNCHING",
    Running = "RUNNING",
    Complete = "COMPLETE",
});

named!(ReportedFinalStatus { Undefined = "UNDEFINED", Succeeded = "SUCCEEDED", Failed = "FAILED", Killed = "KILLED" });

impl From<Option<FinalStatus>> for ReportedFinalStatus {
    fn from(status: Option<FinalStatus>) -> Self {
        match status {
            None => Self::Undefined,
            Some(FinalStatus::Succeeded) => Self::Succeeded,
            Some(FinalStatus::Failed) => Self::Failed,
            Some(FinalStatus::Killed) => Self::Killed,
        }
    }
}

/// How an application says that it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum FinalStatus {
    /// All went well.
    Succeeded,
    /// It did not.
    Failed,
    /// It was ended from outside.
    Killed,
}
