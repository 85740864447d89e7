//! User ids by name, cached.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::fs::Account;
use crate::server::groups::is_plain;
use crate::server::program;

/// Timeout of a lookup, which may query a directory server.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Validity of a cached answer.
const VALID_FOR: Duration = Duration::from_mins(5);
/// Users in the cache.
const REMEMBERED_USERS: usize = 10_000;
/// Maximum output of `id`, bytes.
const MAX_OUTPUT_BYTES: usize = 4 << 10;

/// Looks user ids up. Blocking: used on the pool.
#[derive(Debug)]
pub(super) struct Accounts {
    program: &'static str,
    known: Mutex<BTreeMap<String, (Instant, Option<u32>)>>,
}

// === impl Accounts ===

impl Accounts {
    pub(super) fn new() -> Self {
        Self { program: "id", known: Mutex::default() }
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
        let uid = query_uid(self.program, user);
        let mut known = known();
        // Names come from clients: they must not fill the memory.
        if known.len() >= REMEMBERED_USERS {
            known.clear();
        }
        known.insert(user.to_owned(), (Instant::now(), uid));
        uid
    }
}

/// Runs `id -u`, which also queries directory servers.
fn query_uid(program: &str, user: &str) -> Option<u32> {
    let ran = program::run(Command::new(program).args(["-u", "--", user]), TIMEOUT, MAX_OUTPUT_BYTES);
    match ran {
        Ok(ran) => String::from_utf8_lossy(&ran.stdout).trim().parse().ok(),
        Err(error) => {
            tracing::warn!("`{program} -u` {error}");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_asked_for_names_alone() {
        assert_eq!(query_uid("id", "root"), Some(0));
        let accounts = Accounts::new();
        assert_eq!(
            ["root", "0", "-0", "no such user", "no_such_user"].map(|user| accounts.uid_of(user)),
            [Some(0), None, None, None, None]
        );
        assert_eq!(accounts.known.lock().unwrap().keys().collect::<Vec<_>>(), ["no_such_user"]);
        assert_eq!(query_uid("/no/such/program", "root"), None);
    }
}
