//! The file system of jobs' files, while it cannot be reached: what submissions and `/readyz` then say.

use std::sync::{Arc, Mutex, PoisonError};

use crate::ipc::RemoteError;

/// Why the files of jobs cannot be reached, if so. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct AwaitedFiles {
    reasons: Arc<Mutex<Reasons>>,
}

#[derive(Debug, Default)]
struct Reasons {
    /// They could not be reached since the start: the directories may be missing, and what another JobTracker left is not known.
    since_start: Option<String>,
    /// They could not be reached at the last look.
    at_last_look: Option<String>,
}

impl AwaitedFiles {
    /// They could not be reached since the start, for this reason.
    pub(super) fn set(&self, reason: String) {
        self.with(|reasons| reasons.since_start = Some(reason));
    }

    /// They have been reached once, just now.
    pub(super) fn clear(&self) {
        self.with(|reasons| *reasons = Reasons::default());
    }

    /// What the watch over the NameNode has seen: why they cannot be reached, if so. Returns whether that is news.
    pub(in crate::server) fn set_at_last_look(&self, reason: Option<String>) -> bool {
        self.with(|reasons| {
            let is_news = reasons.since_start.is_none() && reason.is_some() != reasons.at_last_look.is_some();
            reasons.at_last_look = reason;
            is_news
        })
    }

    /// The reason, if they cannot be reached.
    #[must_use]
    pub(crate) fn reason(&self) -> Option<String> {
        self.with(|reasons| reasons.since_start.as_ref().or(reasons.at_last_look.as_ref()).cloned())
    }

    /// Refuses what needs files of jobs until they have been reached once, as a JobTracker in safe mode does: retrying clients wait it
    /// out. Later a submission looks itself: the last look may be some seconds old.
    pub(crate) fn check(&self) -> Result<(), RemoteError> {
        let since_start = self.with(|reasons| reasons.since_start.clone());
        since_start.map_or(Ok(()), |reason| Err(safe_mode(&reason)))
    }

    fn with<T>(&self, look: impl FnOnce(&mut Reasons) -> T) -> T {
        look(&mut self.reasons.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What clients with `mapreduce.jobclient.retry.policy.enabled` wait out.
const SAFE_MODE: &str = "org.apache.hadoop.mapred.SafeModeException";

/// What a client hears of files that cannot be reached now.
pub(super) fn safe_mode(reason: &dyn std::fmt::Display) -> RemoteError {
    RemoteError::new(SAFE_MODE, format!("JobTracker is in safe mode: it cannot reach the files of jobs: {reason}"))
}

/// Whether a client may submit the same once more.
pub(super) fn is_safe_mode(error: &RemoteError) -> bool {
    error.class == SAFE_MODE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_watch_sees_does_not_hide_what_is_unknown_since_the_start() {
        let files = AwaitedFiles::default();
        files.set("away at the start".into());
        assert!(!files.set_at_last_look(Some("away".into())), "the start has said so");
        assert_eq!(files.reason().as_deref(), Some("away at the start"));
        assert!(files.check().is_err());
        files.clear();
        assert_eq!((files.reason(), files.check().is_ok()), (None, true));
        assert!(!files.set_at_last_look(None), "that they are reached has been said");
    }

    #[test]
    fn what_the_watch_sees_is_shown_and_refuses_nothing() {
        let files = AwaitedFiles::default();
        assert!(files.set_at_last_look(Some("away".into())));
        assert!(!files.set_at_last_look(Some("silent".into())), "one line is enough");
        assert_eq!(files.reason().as_deref(), Some("silent"));
        assert!(files.check().is_ok());
        assert!(files.set_at_last_look(None));
        assert_eq!(files.reason(), None);
    }
}
