//! The numbers of users: what the machine says of a name, remembered for a while.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::fs::Account;
use crate::server::groups::is_plain;
use crate::server::program;

/// The machine gets this long: it may have to ask a directory server.
const PATIENCE: Duration = Duration::from_secs(10);
/// Answers are believed this long.
const BELIEVED_FOR: Duration = Duration::from_mins(5);
/// Users who are remembered.
const REMEMBERED_USERS: usize = 10_000;
/// It prints a number, or a complaint.
const MOST_OUTPUT_BYTES: usize = 4 << 10;

/// Looks users up. Blocking: used on the pool.
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

    /// The number of a user; `None` where this machine does not know the name.
    pub(super) fn uid_of(&self, user: &str) -> Option<u32> {
        // An account of the machine's own costs no process.
        if let Some(account) = Account::named(user) {
            return Some(account.uid);
        }
        if !is_plain(user) {
            return None;
        }
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((asked, uid)) = known().get(user)
            && asked.elapsed() < BELIEVED_FOR
        {
            return *uid;
        }
        let uid = ask(self.program, user);
        let mut known = known();
        // Names come from clients: they must not fill the memory.
        if known.len() >= REMEMBERED_USERS {
            known.clear();
        }
        known.insert(user.to_owned(), (Instant::now(), uid));
        uid
    }
}

/// From wherever else the machine knows users: `id -u` asks its directory servers.
fn ask(program: &str, user: &str) -> Option<u32> {
    let ran = program::run(Command::new(program).args(["-u", "--", user]), PATIENCE, MOST_OUTPUT_BYTES);
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
        assert_eq!(ask("id", "root"), Some(0));
        let accounts = Accounts::new();
        assert_eq!(
            ["root", "0", "-0", "no such user", "no_such_user"].map(|user| accounts.uid_of(user)),
            [Some(0), None, None, None, None]
        );
        assert_eq!(accounts.known.lock().unwrap().keys().collect::<Vec<_>>(), ["no_such_user"]);
        assert_eq!(ask("/no/such/program", "root"), None);
    }
}
