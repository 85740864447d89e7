//! The one line that `/healthz` and `/readyz` give: the gravest of what is wrong.

use std::fmt;

use crate::store::Health as StoreHealth;
use crate::web::HEALTHY;

use super::fair_pool::StuckThreads;

pub(super) struct HealthText<'a> {
    pub(super) is_alive: bool,
    pub(super) is_serving: bool,
    pub(super) store: &'a StoreHealth,
    pub(super) stuck: Option<&'a StuckThreads>,
    /// Why the files of jobs cannot be reached.
    pub(super) awaited: Option<&'a str>,
    /// Jobs run, though new users wait or a file is behind the ledger: the daemon is still ready.
    pub(super) complaint: Option<&'a str>,
}

impl fmt::Display for HealthText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stuck = self.stuck.and_then(StuckThreads::stuck);
        match self.store {
            _ if !self.is_alive => f.write_str("the owner of all state has stopped"),
            _ if !self.is_serving => f.write_str("not serving: starting or stopping"),
            StoreHealth::Failing { text, tries, .. } => {
                write!(f, "the state store cannot write ({tries} tries so far): {text}")
            }
            StoreHealth::Broken { text } => write!(f, "the state store is broken: {text}"),
            StoreHealth::Good if self.stuck.is_some_and(StuckThreads::are_all) => f.write_str(
                "no job can be submitted: all threads for files of jobs are stuck on files that do not answer",
            ),
            StoreHealth::Good => match (self.awaited, self.complaint, stuck) {
                (Some(awaited), ..) => {
                    write!(f, "no job can be submitted: the files of jobs cannot be reached: {awaited}")
                }
                (None, Some(error), _) => write!(f, "ok, but {error}"),
                (None, None, Some((stuck, most))) => write!(
                    f,
                    "ok, but {stuck} of {most} threads for files of jobs are stuck on files that do not answer"
                ),
                (None, None, None) => f.write_str(HEALTHY),
            },
        }
    }
}
