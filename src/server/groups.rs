//! Groups of users: asked of the machine as 1.2.1 `ShellBasedUnixGroupsMapping` does, by `id -Gn`, and believed for a while
//! (1.2.1 `Groups`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::process::Stdio;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;

/// Names of groups; none for a user of whom they cannot be told.
type GroupNames = Arc<[String]>;
/// An answer and when it came. One that is under way is waited for by all who want it.
type Answer = Rc<OnceCell<(Instant, GroupNames)>>;

/// The machine gets this long: it may have to ask a directory server.
const PATIENCE: Duration = Duration::from_secs(10);
/// Users asked for at one time.
const AT_ONE_TIME: usize = 4;
/// Users whose groups are remembered.
const REMEMBERED_USERS: usize = 10_000;
/// Longest name of a user that is asked for, bytes.
const LONGEST_NAME: usize = 256;

/// The groups of users, remembered.
#[derive(Debug)]
pub(super) struct Groups {
    program: &'static str,
    believed_for: Duration,
    known: RefCell<BTreeMap<Arc<str>, Answer>>,
    turns: Semaphore,
}

// === impl Groups ===

impl Groups {
    /// Answers are believed for `cache_s` seconds (`hadoop.security.groups.cache.secs`).
    pub(super) fn new(cache_s: u64) -> Self {
        Self {
            program: "id",
            believed_for: Duration::from_secs(cache_s),
            known: RefCell::default(),
            turns: Semaphore::new(AT_ONE_TIME),
        }
    }

    /// The groups of a user, if they were asked for lately.
    pub(super) fn known(&self, user: &str) -> Option<GroupNames> {
        if !is_plain(user) {
            return Some(Arc::new([]));
        }
        let known = self.known.borrow();
        let (asked, groups) = known.get(user)?.get()?;
        (asked.elapsed() < self.believed_for).then(|| groups.clone())
    }

    /// The groups of a user.
    pub(super) async fn of(&self, user: &Arc<str>) -> GroupNames {
        if let Some(groups) = self.known(user) {
            return groups;
        }
        let answer = self.answer(user);
        let (_, groups) = answer.get_or_init(|| self.told(user)).await;
        groups.clone()
    }

    /// Where the answer about a user will stand: the place of one under way, or a new one.
    fn answer(&self, user: &Arc<str>) -> Answer {
        let mut known = self.known.borrow_mut();
        if let Some(under_way) = known.get(user).filter(|answer| !answer.initialized()) {
            return under_way.clone();
        }
        // Names come from clients: they must not fill the memory.
        if known.len() >= REMEMBERED_USERS {
            known.clear();
        }
        let answer = Rc::new(OnceCell::new());
        known.insert(user.clone(), answer.clone());
        answer
    }

    async fn told(&self, user: &str) -> (Instant, GroupNames) {
        let _turn = self.turns.acquire().await;
        let groups: GroupNames = match self.ask(user).await {
            Ok(groups) => groups.into(),
            Err(reason) => {
                tracing::warn!("user {user} counts as in no group: {reason}");
                Arc::new([])
            }
        };
        (Instant::now(), groups)
    }

    /// Forgets what was told so far.
    pub(super) fn forget(&self) {
        self.known.borrow_mut().clear();
    }

    async fn ask(&self, user: &str) -> Result<Vec<String>, String> {
        let mut command = Command::new(self.program);
        command.args(["-Gn", "--", user]).env("LC_ALL", "C").stdin(Stdio::null()).kill_on_drop(true);
        let output = match tokio::time::timeout(PATIENCE, command.output()).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(format!("`{}` cannot be run: {error}", self.program)),
            Err(_) => return Err(format!("`{}` has not answered within {} s", self.program, PATIENCE.as_secs())),
        };
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`{}` ended with {}: {}", self.program, output.status, complaint.trim()));
        }
        let text = String::from_utf8(output.stdout).map_err(|_| format!("`{}` printed no text", self.program))?;
        Ok(text.split_whitespace().map(str::to_owned).collect())
    }
}

/// Whether a name can be put to `id`: it takes a number for the id of a user, so that a user who calls himself 0 would be
/// in the groups of root.
fn is_plain(user: &str) -> bool {
    let is_first = |first: char| first.is_alphabetic() || first == '_';
    let is_next = |next: char| next.is_alphanumeric() || "._-@$".contains(next);
    user.len() <= LONGEST_NAME && user.starts_with(is_first) && user.chars().all(is_next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn groups(folder: &tempfile::TempDir, script: &str, cache_s: u64) -> Groups {
        let path = folder.path().join("id");
        std::fs::write(&path, format!("#!/bin/sh\necho \"$@\" >> \"$0.asked\"\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Groups { program: path.display().to_string().leak(), ..Groups::new(cache_s) }
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
        let (first, second) = tokio::join!(groups.of(&alice), groups.of(&alice));
        assert_eq!((&*first, &*second), (&["ops".to_owned(), "dev".to_owned()][..], &*first));
        assert_eq!(groups.known("alice").unwrap(), first);
        assert_eq!(asked(&folder), ["-Gn -- alice"]);
        groups.forget();
        groups.of(&alice).await;
        assert_eq!(asked(&folder).len(), 2);
    }

    #[tokio::test]
    async fn an_old_answer_is_asked_for_again() {
        let folder = tempfile::tempdir().unwrap();
        let groups = groups(&folder, "echo ops", 0);
        groups.of(&"alice".into()).await;
        assert_eq!(groups.known("alice"), None);
    }

    #[tokio::test]
    async fn who_is_unknown_is_in_no_group() {
        let folder = tempfile::tempdir().unwrap();
        let groups = groups(&folder, "echo 'no such user' >&2; exit 1", 300);
        assert!(groups.of(&"nobody".into()).await.is_empty());
        assert_eq!(groups.known("nobody").as_deref(), Some(&[][..]), "and is not asked for at every call");
    }

    #[tokio::test]
    async fn names_that_are_numbers_or_options_are_not_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let groups = groups(&folder, "echo root", 300);
        for name in ["0", "+0", "-G", "--version", "", "a b", "a\nb", "$(id)", &"a".repeat(300)] {
            assert!(groups.of(&name.into()).await.is_empty(), "{name:?}");
        }
        assert!(asked(&folder).is_empty());
    }

    #[tokio::test]
    async fn the_machine_knows_its_own_users() {
        let groups = Groups::new(300).of(&"root".into()).await;
        assert!(groups.contains(&"root".to_owned()), "{groups:?}");
    }
}
