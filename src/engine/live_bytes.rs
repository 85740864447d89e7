//! Memory that jobs that are not over take beside their tasks: texts, splits, credentials.

use std::collections::BTreeMap;

use crate::model::JobId;

use super::Refusal;

/// Bytes of all unfinished jobs, and of those of each user that has any.
#[derive(Debug, Default)]
pub(super) struct LiveBytes {
    all: u64,
    by_user: BTreeMap<String, u64>,
}

/// The part of all that one user may take: one of so many.
const PARTS_FOR_A_USER: u64 = 2;

// === impl LiveBytes ===

impl LiveBytes {
    /// A job has come.
    pub(super) fn add(&mut self, user: &str, bytes: u64) {
        self.all = self.all.saturating_add(bytes);
        match self.by_user.get_mut(user) {
            Some(sum) => *sum = sum.saturating_add(bytes),
            None => drop(self.by_user.insert(user.to_owned(), bytes)),
        }
    }

    /// A job that was added is over.
    pub(super) fn remove(&mut self, user: &str, bytes: u64) {
        self.all = self.all.saturating_sub(bytes);
        if let Some(sum) = self.by_user.get_mut(user) {
            *sum = sum.saturating_sub(bytes);
            if *sum == 0 {
                self.by_user.remove(user);
            }
        }
    }

    /// Whether there is room for `bytes` more of a user beside `coming`, those of submissions under way by user; `most` for all
    /// together.
    pub(super) fn judge<'a>(
        &self,
        id: JobId,
        user: &str,
        bytes: u64,
        coming: impl Iterator<Item = (&'a str, u64)>,
        most: u64,
    ) -> Result<(), Refusal> {
        let mut all = self.all;
        let mut own = self.by_user.get(user).copied().unwrap_or(0);
        for (whose, bytes) in coming {
            all = all.saturating_add(bytes);
            own = own.saturating_add(if whose == user { bytes } else { 0 });
        }
        let for_a_user = most / PARTS_FOR_A_USER;
        let (holder, taken, limit) = if own.saturating_add(bytes) > for_a_user {
            ("jobs of its user", own, for_a_user)
        } else if all.saturating_add(bytes) > most {
            ("jobs of all users", all, most)
        } else {
            return Ok(());
        };
        Err(Refusal::Invalid(format!(
            "{id} takes {bytes} bytes of memory for texts, splits and credentials, and {holder} that are not over take \
             {taken}; the limit is {limit} (jobtracker.max-job-bytes is {most}): try again when some are over"
        )))
    }
}
