//! How much the logs of ended containers take here: of each application and user, so that the oldest go while they are too much.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::model::{ApplicationId, ContainerId};

/// Most bytes of the logs of one application.
pub(crate) const APPLICATION_BYTES: u64 = 128 << 20;
/// Most bytes of the logs of one user.
pub(crate) const USER_BYTES: u64 = 256 << 20;

/// The logs of containers that have ended.
#[derive(Debug, Default)]
pub(crate) struct LogSums {
    of_users: BTreeMap<Arc<str>, UserLogs>,
}

#[derive(Debug, Default)]
struct UserLogs {
    bytes: u64,
    of_applications: BTreeMap<ApplicationId, u64>,
    /// By end, the oldest first.
    ended: VecDeque<(ContainerId, u64)>,
}

impl LogSums {
    /// A container of the user has ended before the worker began, later than those that were noted so far.
    pub(crate) fn note(&mut self, user: &str, id: ContainerId, bytes: u64) {
        self.of_users.entry(user.into()).or_default().push(id, bytes);
    }

    /// A container of the user has ended, with so many bytes in its logs. Returns those whose logs are to go; the newest never is.
    pub(crate) fn add(&mut self, user: &str, id: ContainerId, bytes: u64) -> Vec<ContainerId> {
        if bytes == 0 {
            return Vec::new();
        }
        let logs = self.of_users.entry(user.into()).or_default();
        logs.push(id, bytes);
        let mut gone = Vec::new();
        while logs.of_applications.get(&id.application).is_some_and(|bytes| *bytes > APPLICATION_BYTES)
            && let Some(oldest) = logs.take_oldest(id, |other| other.application == id.application)
        {
            gone.push(oldest);
        }
        while logs.bytes > USER_BYTES
            && let Some(oldest) = logs.take_oldest(id, |_| true)
        {
            gone.push(oldest);
        }
        gone
    }

    /// Forgets those whose logs have gone for their age.
    pub(crate) fn retain(&mut self, is_there: impl Fn(ContainerId) -> bool) {
        self.of_users.retain(|_, logs| {
            let ended = std::mem::take(logs);
            for (id, bytes) in ended.ended.into_iter().filter(|(id, _)| is_there(*id)) {
                logs.push(id, bytes);
            }
            !logs.ended.is_empty()
        });
    }
}

impl UserLogs {
    fn push(&mut self, id: ContainerId, bytes: u64) {
        self.bytes += bytes;
        *self.of_applications.entry(id.application).or_default() += bytes;
        self.ended.push_back((id, bytes));
    }

    fn take_oldest(&mut self, newest: ContainerId, is_meant: impl Fn(ContainerId) -> bool) -> Option<ContainerId> {
        let at = self.ended.iter().position(|(id, _)| *id != newest && is_meant(*id))?;
        let (id, bytes) = self.ended.remove(at)?;
        self.bytes = self.bytes.saturating_sub(bytes);
        if let Some(of_application) = self.of_applications.get_mut(&id.application) {
            *of_application = of_application.saturating_sub(bytes);
        }
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn the_oldest_logs_of_an_application_and_of_a_user_go_and_the_newest_stay() {
        let mut sums = LogSums::default();
        let id = |application, number| ApplicationId::new(5, application).container(1, number);
        assert_eq!(sums.add("alice", id(1, 1), 100 * MB), []);
        assert_eq!(sums.add("alice", id(1, 2), 28 * MB), []);
        assert_eq!(sums.add("alice", id(1, 3), MB), [id(1, 1)]);
        assert_eq!(sums.add("alice", id(2, 1), 120 * MB), []);
        assert_eq!(sums.add("bob", id(3, 1), 120 * MB), [], "another user's");
        assert_eq!(sums.add("alice", id(4, 1), 120 * MB), [id(1, 2)]);
        assert_eq!(sums.add("alice", id(4, 2), 300 * MB), [id(4, 1), id(1, 3), id(2, 1)], "but for the newest");
        sums.note("bob", id(3, 2), 5 * MB);
        assert_eq!(sums.add("bob", id(3, 3), 8 * MB), [id(3, 1)], "with those of before");
        sums.retain(|other| other != id(4, 2));
        assert_eq!(sums.of_users.keys().map(|user| &**user).collect::<Vec<_>>(), ["bob"]);
    }
}
