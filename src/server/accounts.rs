//! User ids by name, cached.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::accounts::{is_plain, query_uid};
use crate::fs::Account;

/// Validity of a cached answer.
const VALID_FOR: Duration = Duration::from_mins(5);
const REMEMBERED_USERS: usize = 10_000;

/// Looks user ids up. Blocking: used on the pool.
#[derive(Debug)]
pub(super) struct Accounts {
    known: Mutex<BTreeMap<String, (Instant, Option<u32>)>>,
}

impl Accounts {
    pub(super) fn new() -> Self {
        Self { known: Mutex::default() }
    }

    /// The id of a user; `None` if this machine does not know the name.
    pub(super) fn uid_of(&self, user: &str) -> Option<u32> {
        // A local account costs no process.
        if let Some(account) = Account::named(user) {
            return Some(account.uid);
        }
        if !is_plain(user) {
            return None;
        }
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((asked, uid)) = known().get(user)
            && asked.elapsed() < VALID_FOR
        {
            return *uid;
        }
        let uid = query_uid("id", user);
        let mut known = known();
        // Names come from clients: they must not fill the memory.
        if known.len() >= REMEMBERED_USERS {
            known.clear();
        }
        known.insert(user.to_owned(), (Instant::now(), uid));
        uid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_asked_for_names_alone() {
        let accounts = Accounts::new();
        assert_eq!(
            ["root", "0", "-0", "no such user", "no_such_user"].map(|user| accounts.uid_of(user)),
            [Some(0), None, None, None, None]
        );
        assert_eq!(accounts.known.lock().unwrap().keys().collect::<Vec<_>>(), ["no_such_user"]);
    }
}
