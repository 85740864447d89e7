//! Groups of users: looked up by `id -Gn`, as 1.2.1 `ShellBasedUnixGroupsMapping` does, and cached (1.2.1
//! `Groups`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;

use crate::accounts::is_plain;
use crate::config::excerpt;
use crate::program;

/// Names of groups; empty if the lookup fails.
type GroupNames = Arc<[String]>;
/// A cached answer with its time. Concurrent lookups of a user share one.
type Answer = Rc<OnceCell<(Instant, GroupNames)>>;

/// Timeout of a lookup, which may query a directory server.
const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_OUTPUT_BYTES: usize = 1 << 20;
const CONCURRENT_LOOKUPS: usize = 4;
/// Users in the cache; at most twice as many are in memory.
const REMEMBERED_USERS: usize = 5_000;
/// Burst of new names per address, and the interval after which one more is allowed: names are cheap to make up, and
/// each costs a process.
const NEW_NAMES: (u32, Duration) = (100, Duration::from_millis(100));
/// Addresses with a rate in memory; beyond it idle ones are removed.
const REMEMBERED_ADDRESSES: usize = 1_000;

#[derive(Debug)]
pub(super) struct UserGroups {
    program: &'static str,
    valid_for: Duration,
    known: RefCell<CachedGroups>,
    permits: Semaphore,
    /// By origin: when its burst will be full again at the rate of [`NEW_NAMES`].
    rates: RefCell<BTreeMap<u128, Instant>>,
}

/// Answers by user. Least recently used users are removed first.
#[derive(Debug, Default)]
struct CachedGroups {
    recent: BTreeMap<Arc<str>, Answer>,
    older: BTreeMap<Arc<str>, Answer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "too many new user names from this address to look up their groups: the limit is {}, and one more each {} ms; try \
     again later",
    NEW_NAMES.0,
    NEW_NAMES.1.as_millis()
)]
pub(super) struct TooManyNames;

impl CachedGroups {
    fn get(&mut self, user: &str) -> Option<&Answer> {
        if let Some((user, answer)) = self.older.remove_entry(user) {
            self.put(user, answer);
        }
        self.recent.get(user)
    }

    fn put(&mut self, user: Arc<str>, answer: Answer) {
        // Names come from clients: they must not fill the memory.
        if self.recent.len() >= REMEMBERED_USERS {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(user, answer);
    }
}

impl UserGroups {
    /// Caches answers for `cache_s` seconds (`hadoop.security.groups.cache.secs`).
    pub(super) fn new(cache_s: u64) -> Self {
        Self {
            program: "id",
            valid_for: Duration::from_secs(cache_s),
            known: RefCell::default(),
            permits: Semaphore::new(CONCURRENT_LOOKUPS),
            rates: RefCell::default(),
        }
    }

    pub(super) fn known(&self, user: &str) -> Option<GroupNames> {
        if !is_plain(user) {
            return Some(Arc::new([]));
        }
        let mut known = self.known.borrow_mut();
        let (asked, groups) = known.get(user)?.get()?;
        (asked.elapsed() < self.valid_for).then(|| groups.clone())
    }

    /// The groups of a user that calls from a host (see [`PendingCall::origin`](crate::ipc::PendingCall::origin)).
    pub(super) async fn of(&self, user: &Arc<str>, origin: u128) -> Result<GroupNames, TooManyNames> {
        if let Some(groups) = self.known(user) {
            return Ok(groups);
        }
        let answer = self.answer(user, origin)?;
        let (_, groups) = answer.get_or_init(|| self.look_up(user)).await;
        Ok(groups.clone())
    }

    /// The cell of a user's answer: that of a lookup in progress, or a new one.
    fn answer(&self, user: &Arc<str>, origin: u128) -> Result<Answer, TooManyNames> {
        let mut known = self.known.borrow_mut();
        match known.get(user) {
            Some(answer) if !answer.initialized() => return Ok(answer.clone()),
            // Only new names are counted, not repeated lookups.
            Some(_) => {}
            None => self.count_name(origin)?,
        }
        let answer = Rc::new(OnceCell::new());
        known.put(user.clone(), answer.clone());
        Ok(answer)
    }

    fn count_name(&self, origin: u128) -> Result<(), TooManyNames> {
        let now = Instant::now();
        let mut rates = self.rates.borrow_mut();
        if rates.len() >= REMEMBERED_ADDRESSES {
            rates.retain(|_, even| *even > now);
        }
        let even = rates.entry(origin).or_insert(now);
        let next = (*even).max(now) + NEW_NAMES.1;
        if next > now + NEW_NAMES.1 * NEW_NAMES.0 {
            return Err(TooManyNames);
        }
        *even = next;
        Ok(())
    }

    async fn look_up(&self, user: &str) -> (Instant, GroupNames) {
        let _permit = self.permits.acquire().await;
        let (program, name) = (self.program, user.to_owned());
        let asked = tokio::task::spawn_blocking(move || query_groups(program, &name)).await;
        let groups: GroupNames = match asked.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(groups) => groups.into(),
            Err(reason) => {
                tracing::warn!("cannot look up the groups of user {user}, assuming none: {reason}");
                Arc::new([])
            }
        };
        (Instant::now(), groups)
    }

    pub(super) fn forget(&self) {
        *self.known.borrow_mut() = CachedGroups::default();
    }
}

/// Runs `id`. Blocking: not on the owner's thread, where a fork would copy the memory map.
fn query_groups(program: &str, user: &str) -> Result<Vec<String>, String> {
    let mut command = Command::new(program);
    command.args(["-Gn", "--", user]).env("LC_ALL", "C");
    let ran = program::run(&mut command, TIMEOUT, MAX_OUTPUT_BYTES).map_err(|error| format!("`{program}` {error}"))?;
    if !ran.status.success() {
        let stderr = String::from_utf8_lossy(&ran.stderr);
        return Err(format!("`{program}` ended with {}: {}", ran.status, excerpt(stderr.trim()).escape_debug()));
    }
    let text = String::from_utf8(ran.stdout).map_err(|_| format!("`{program}` printed no text"))?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn groups(folder: &tempfile::TempDir, script: &str, cache_s: u64) -> UserGroups {
        let path = folder.path().join("id");
        std::fs::write(&path, format!("#!/bin/sh\necho \"$@\" >> \"$0.asked\"\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        UserGroups { program: path.display().to_string().leak(), ..UserGroups::new(cache_s) }
    }

    fn asked(folder: &tempfile::TempDir) -> Vec<String> {
        let text = std::fs::read_to_string(folder.path().join("id.asked")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn a_user_is_asked_for_once_until_all_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let groups = groups(&folder, "echo ops dev", 300);
        assert_eq!(groups.known("alice"), None);
        let alice = "alice".into();
        let (first, second) = tokio::join!(groups.of(&alice, 1), groups.of(&alice, 1));
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!((&*first, &*second), (&["ops".to_owned(), "dev".to_owned()][..], &*first));
        assert_eq!(groups.known("alice").unwrap(), first);
        assert_eq!(asked(&folder), ["-Gn -- alice"]);
        groups.forget();
        groups.of(&alice, 1).await.unwrap();
        assert_eq!(asked(&folder).len(), 2);
    }

    #[tokio::test]
    async fn an_old_answer_is_asked_for_again() {
        let folder = tempfile::tempdir().unwrap();
        let groups = groups(&folder, "echo ops", 0);
        groups.of(&"alice".into(), 1).await.unwrap();
        assert_eq!(groups.known("alice"), None);
    }

    #[tokio::test]
    async fn who_is_unknown_is_in_no_group() {
        let folder = tempfile::tempdir().unwrap();
        let groups = groups(&folder, "echo 'no such user' >&2; exit 1", 300);
        assert!(groups.of(&"nobody".into(), 1).await.unwrap().is_empty());
        assert_eq!(groups.known("nobody").as_deref(), Some(&[][..]), "and is not looked up at every call");
    }

    #[tokio::test]
    async fn names_that_are_numbers_or_options_are_not_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let groups = groups(&folder, "echo root", 300);
        for name in ["0", "+0", "-G", "--version", "", "a b", "a\nb", "$(id)", &"a".repeat(300)] {
            assert!(groups.of(&name.into(), 1).await.unwrap().is_empty(), "{name:?}");
        }
        assert!(asked(&folder).is_empty());
    }

    #[tokio::test]
    async fn the_machine_knows_its_own_users() {
        let groups = UserGroups::new(300).of(&"root".into(), 1).await.unwrap();
        assert!(groups.contains(&"root".to_owned()), "{groups:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn names_that_are_made_up_start_no_more_processes_than_the_pace_lets() {
        let folder = tempfile::tempdir().unwrap();
        let groups = groups(&folder, "exit 1", 300);
        let of = async |name: String, address: u128| groups.of(&name.into(), address).await;
        let mut refused = 0;
        for number in 0..300 {
            refused += u32::from(of(format!("u{number}"), 1).await == Err(TooManyNames));
        }
        assert_eq!((asked(&folder).len(), refused), (100, 200));
        assert!(of("u1".to_owned(), 1).await.unwrap().is_empty(), "a known user is not looked up");
        assert!(of("alice".to_owned(), 2).await.is_ok(), "others notice nothing");
        tokio::time::advance(Duration::from_secs(1)).await;
        for number in 0..20 {
            assert_eq!(of(format!("v{number}"), 1).await.is_ok(), number < 10);
        }
    }

    #[tokio::test]
    async fn many_names_displace_only_users_without_lookups() {
        let mut known = CachedGroups::default();
        known.put("alice".into(), Answer::default());
        for number in 0..4 * REMEMBERED_USERS {
            known.put(format!("u{number}").into(), Answer::default());
            assert!(!number.is_multiple_of(1_000) || known.get("alice").is_some());
        }
        assert!(known.get("alice").is_some() && known.get("u0").is_none());
        assert!(known.recent.len() + known.older.len() <= 2 * REMEMBERED_USERS);
    }
}
