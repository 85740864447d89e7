//! Memory that users take: texts, splits and credentials of unfinished jobs; all that applications have sent and that is kept for them.

use std::collections::BTreeMap;

use crate::model::{Violations, lower};

/// Bytes of all that is unfinished of one kind, and by user; no entry for users without any.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LiveBytes {
    all: u64,
    by_user: BTreeMap<String, u64>,
}

/// One user may use one of so many parts of the limit.
const PARTS_FOR_A_USER: u64 = 2;

impl LiveBytes {
    pub(crate) fn add(&mut self, user: &str, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.all = self.all.saturating_add(bytes);
        match self.by_user.get_mut(user) {
            Some(sum) => *sum = sum.saturating_add(bytes),
            None => drop(self.by_user.insert(user.to_owned(), bytes)),
        }
    }

    pub(crate) fn remove(&mut self, user: &str, bytes: u64, violations: &mut Violations) {
        if bytes == 0 {
            return;
        }
        lower(&mut self.all, bytes, violations);
        if let Some(sum) = self.by_user.get_mut(user) {
            lower(sum, bytes, violations);
            if *sum == 0 {
                self.by_user.remove(user);
            }
        }
    }

    pub(crate) fn all(&self) -> u64 {
        self.all
    }

    pub(crate) fn of(&self, user: &str) -> u64 {
        self.by_user.get(user).copied().unwrap_or(0)
    }

    /// Refuses `bytes` more that exceed the limit of their user or of all, `most`. `others`: what counts beside, by user.
    pub(crate) fn check_room<'a>(
        &self,
        what: &str,
        user: &str,
        bytes: u64,
        others: impl Iterator<Item = (&'a str, u64)>,
        most: u64,
    ) -> Result<(), String> {
        let (mut all, mut own) = (self.all, self.of(user));
        for (whose, bytes) in others {
            all = all.saturating_add(bytes);
            own = own.saturating_add(if whose == user { bytes } else { 0 });
        }
        let for_a_user = most / PARTS_FOR_A_USER;
        let (holder, taken, limit) = if own.saturating_add(bytes) > for_a_user {
            ("of its user", own, for_a_user)
        } else if all.saturating_add(bytes) > most {
            ("of all users", all, most)
        } else {
            return Ok(());
        };
        Err(format!(
            "{what} takes {bytes} bytes of memory, and jobs and applications {holder} that are not over take {taken}; the \
             limit is {limit} (jobtracker.max-job-bytes is {most}): try again when some are over"
        ))
    }
}
