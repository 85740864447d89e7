//! Logs of containers: `userlogs/APPLICATION/CONTAINER/{stdout,stderr}`, each shown for a ticket of the application's key, and kept
//! as long as those of attempts.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::geteuid;

use crate::fs::{Expected, FolderHandle, FsError, ListBound};
use crate::model::{ApplicationId, ContainerId, LogKey};
use crate::streaming::private_files::FOLDER_MODE;
use crate::wire::limits::USER_NAME_BYTES;
use crate::worker::attempt_logs::{GivenTicket, LogsDenied, keep_key_in, key_in};

use super::super::attempt_logs::{APPLICATION_PREFIX, AttemptLogs, log_file, open_log_part};

pub(crate) const CONTAINER_LOGS: [&str; 2] = ["stdout", "stderr"];
/// Among the logs of an application: whose it is.
const USER_FILE: &str = "user";

#[derive(Clone, Debug)]
pub(crate) struct ContainerLogs {
    logs: AttemptLogs,
}

impl ContainerLogs {
    pub(crate) fn new(logs: AttemptLogs) -> Self {
        Self { logs }
    }

    /// Makes the empty logs of a container, and keeps whose its application is and the key of its tickets.
    /// Errors: a link in the place of a folder or file, or a system error.
    pub(crate) fn create(&self, id: ContainerId, user: &str, key: Option<&LogKey>) -> Result<[File; 2], FsError> {
        let name = id.application.to_string();
        let of_application = FolderHandle::open(&self.logs.folder)?.make_folder(OsStr::new(&name), FOLDER_MODE)?;
        // Written once, since a request may read it at any time.
        if let Some(key) = key.filter(|key| key_in(&self.logs.folder, &name).ok().flatten().as_ref() != Some(*key)) {
            keep_key_in(&of_application, key)?;
        }
        if of_application.stat_of(OsStr::new(USER_FILE))?.is_none_or(|kept| kept.st_size == 0) {
            let mut file = log_file(&of_application, USER_FILE)?;
            // Without it they are in no sum after a restart of the worker.
            let _ = file.write_all(user.as_bytes());
        }
        let folder = of_application.make_folder(OsStr::new(&id.to_string()), FOLDER_MODE)?;
        let [stdout, stderr] = CONTAINER_LOGS;
        Ok([log_file(&folder, stdout)?, log_file(&folder, stderr)?])
    }

    /// Opens a log for the requested part, if the container ran here: the file, and the range in bytes.
    pub(crate) fn open_part(
        &self,
        id: ContainerId,
        name: &str,
        start: i64,
        end: i64,
    ) -> Option<io::Result<(File, Range<u64>)>> {
        open_log_part(&self.logs.folder, &path_of(id), name, start, end)
    }

    /// Checks a ticket for the logs of a container at a time, epoch ms. Reads a file.
    pub(crate) fn check_ticket(&self, id: ContainerId, given: &GivenTicket, now_ms: i64) -> Result<(), LogsDenied> {
        let (expires_ms, ticket) = given.whole().ok_or(LogsDenied::NoTicketOfContainer)?;
        Ok(self.logs.key(id.application.to_string())?.check_container(id, expires_ms, ticket, now_ms)?)
    }

    /// How much the logs take that containers have left here before.
    pub(crate) fn sums(&self) -> LogSums {
        let mut ended = Vec::new();
        let Ok(logs) = FolderHandle::open(&self.logs.folder) else { return LogSums::default() };
        for name in logs.names(ListBound::OWN).unwrap_or_default() {
            let is_applications = name.to_string_lossy().starts_with(APPLICATION_PREFIX);
            let Some(folder) = is_applications.then(|| logs.folder(Path::new(&name)).ok()).flatten() else { continue };
            let Some(user) = user_in(&folder) else { continue };
            let containers = folder.names(ListBound::OWN).unwrap_or_default().into_iter();
            ended.extend(containers.filter_map(|name| {
                let id: ContainerId = name.to_str()?.parse().ok()?;
                Some((folder.stat_of(&name).ok()??.st_mtime, id, user.clone()))
            }));
        }
        ended.sort_unstable();
        let mut sums = LogSums::default();
        ended.iter().for_each(|(_, id, user)| sums.note(user, *id, self.bytes_of(*id)));
        sums
    }

    pub(crate) fn bytes_of(&self, id: ContainerId) -> u64 {
        let Ok(folder) = FolderHandle::open(&self.logs.folder).and_then(|logs| logs.folder(&path_of(id))) else {
            return 0;
        };
        let bytes = |name| folder.stat_of(OsStr::new(name)).ok().flatten().map_or(0, |stat| stat.st_size.max(0));
        CONTAINER_LOGS.into_iter().map(|name| bytes(name).cast_unsigned()).sum()
    }

    pub(crate) fn remove(&self, id: ContainerId) {
        let of_application = Path::new(&id.application.to_string()).to_owned();
        let folder = FolderHandle::open(&self.logs.folder).and_then(|logs| logs.folder(&of_application));
        let removed = folder.and_then(|folder| folder.remove(OsStr::new(&id.to_string())));
        if let Err(error) = removed {
            tracing::warn!("cannot remove the logs of {id}: {error}");
        }
    }

    /// Removes logs that have not changed for the retention time, but for those of containers that run.
    pub(crate) fn remove_old(&self, is_live: &dyn Fn(&str) -> bool) {
        let Ok(logs) = FolderHandle::open(&self.logs.folder) else { return };
        let names = logs.names(ListBound::OWN).unwrap_or_default();
        for name in names.iter().filter(|name| name.to_string_lossy().starts_with(APPLICATION_PREFIX)) {
            let Ok(of_application) = logs.folder(Path::new(name)) else { continue };
            let containers = of_application.names(ListBound::OWN).unwrap_or_default();
            let kept =
                containers.iter().filter(|name| name.to_string_lossy().starts_with("container_")).filter(|name| {
                    let is_over = !is_live(&name.to_string_lossy()) && self.logs.is_old(&of_application, name);
                    // The next round removes the rest.
                    !(is_over && of_application.remove(name).is_ok())
                });
            if kept.count() == 0 && self.logs.is_old(&logs, name) {
                let _ = logs.remove(name);
            }
        }
    }
}

/// Whose an application is that has run here.
fn user_in(of_application: &FolderHandle) -> Option<String> {
    let expected = Expected::file_of([geteuid().as_raw()]).with_one_link().at_most(USER_NAME_BYTES as u64);
    let mut user = String::new();
    of_application.file(Path::new(USER_FILE), &expected).ok()?.file.read_to_string(&mut user).ok()?;
    Some(user).filter(|user| !user.is_empty())
}

fn path_of(id: ContainerId) -> PathBuf {
    Path::new(&id.application.to_string()).join(id.to_string())
}

/// Most bytes of the logs of one application.
pub(crate) const APPLICATION_BYTES: u64 = 128 << 20;
/// Most bytes of the logs of one user.
const USER_BYTES: u64 = 256 << 20;

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
    use std::fs;
    use std::time::Duration;

    use super::*;

    fn logs(scratch: &Path) -> ContainerLogs {
        ContainerLogs::new(AttemptLogs {
            folder: scratch.to_owned(),
            limit_bytes: None,
            retain: Duration::from_secs(60),
        })
    }

    #[test]
    fn a_log_is_shown_for_a_ticket_of_its_container() {
        let scratch = tempfile::tempdir().unwrap();
        let logs = logs(scratch.path());
        let [id, other] = [1, 2].map(|number| ApplicationId::new(5, 1).container(1, number));
        let key = LogKey::of_token(b"secret");
        let given = |id, key: &LogKey| GivenTicket { expires_ms: Some(10), ticket: Some(key.container_ticket(id, 10)) };
        let check =
            |given: &GivenTicket, now_ms| logs.check_ticket(id, given, now_ms).map_err(|error| error.to_string());
        assert!(check(&given(id, &key), 10).unwrap_err().contains("the key of application_5_0001 is not here"));
        let [mut stdout, _stderr] = logs.create(id, "alice", Some(&key)).unwrap();
        stdout.write_all(b"hello").unwrap();
        assert_eq!(check(&given(id, &key), 10), Ok(()));
        assert!(check(&given(id, &key), 11).unwrap_err().contains("was valid until 10"));
        assert!(check(&given(other, &key), 10).is_err());
        assert!(check(&GivenTicket::default(), 10).unwrap_err().contains("need a ticket"));
        assert_eq!(logs.open_part(id, "stdout", -3, -1).unwrap().unwrap().1, 3..5);
        assert!(logs.open_part(other, "stdout", 0, -1).is_none());
    }

    #[test]
    fn old_logs_go_one_by_one_and_those_of_running_containers_stay() {
        let scratch = tempfile::tempdir().unwrap();
        let logs = logs(scratch.path());
        let ids = [1, 2, 3].map(|number| ApplicationId::new(5, 1).container(1, number));
        ids.iter().for_each(|id| drop(logs.create(*id, "alice", Some(&LogKey::of_token(b"secret"))).unwrap()));
        let path = |id: ContainerId| scratch.path().join(path_of(id));
        let old = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000));
        let age = |path: &Path| File::open(path).unwrap().set_times(old).unwrap();
        ids[..2].iter().for_each(|id| age(&path(*id)));
        let live = ids[1].to_string();
        logs.remove_old(&|name| name == live);
        assert_eq!(ids.map(|id| path(id).exists()), [false, true, true]);
        age(&path(ids[2]));
        age(&scratch.path().join("application_5_0001"));
        logs.remove_old(&|_| false);
        assert!(!path(ids[2]).exists());
        age(&scratch.path().join("application_5_0001"));
        logs.remove_old(&|_| false);
        assert!(!scratch.path().join("application_5_0001").exists(), "with its key");
    }

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
