//! Memory of unfinished jobs beside their tasks: texts, splits, credentials.

use std::collections::BTreeMap;

use crate::model::{JobId, Violations, lower};

use super::refusal::Refusal;

/// Bytes of all unfinished jobs, and by user; no entry for users without any.
#[derive(Debug, Default)]
pub struct LiveBytes {
    all: u64,
    by_user: BTreeMap<String, u64>,
}

/// One user may use one of so many parts of the limit.
const PARTS_FOR_A_USER: u64 = 2;

// === impl LiveBytes ===

impl LiveBytes {
    /// Adds an accepted job.
    pub fn add(&mut self, user: &str, bytes: u64) {
        self.all = self.all.saturating_add(bytes);
        match self.by_user.get_mut(user) {
            Some(sum) => *sum = sum.saturating_add(bytes),
            None => drop(self.by_user.insert(user.to_owned(), bytes)),
        }
    }

    /// Removes a completed job.
    pub fn remove(&mut self, user: &str, bytes: u64, violations: &mut Violations) {
        lower(&mut self.all, bytes, violations);
        if let Some(sum) = self.by_user.get_mut(user) {
            lower(sum, bytes, violations);
            if *sum == 0 {
                self.by_user.remove(user);
            }
        }
    }

    /// Refuses a job of `bytes` that exceeds the limit of its user or of all, `most`. `pending`: pending submissions,
    /// by user.
    pub fn check_room<'a>(
        &self,
        id: JobId,
        user: &str,
        bytes: u64,
        pending: impl Iterator<Item = (&'a str, u64)>,
        most: u64,
    ) -> Result<(), Refusal> {
        let mut all = self.all;
        let mut own = self.by_user.get(user).copied().unwrap_or(0);
        for (whose, bytes) in pending {
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
