//! Which user jobs run as on this worker: its own user, or each the job's user, if the rules admit that (1.2.1 `task-controller`).

use std::collections::BTreeSet;
use std::fmt;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities};

use crate::accounts::{LoginUser, LookupError};
use crate::config::{ConfigError, Configuration, HostPort, keys};
use crate::socket_owner::uid_of_socket;

/// What a worker of root's needs: to take another user's ids, to give folders away, to read and remove what is in them, and to end
/// processes.
const NEEDED: [(&str, CapabilitySet); 6] = [
    ("CAP_SETUID", CapabilitySet::SETUID),
    ("CAP_SETGID", CapabilitySet::SETGID),
    ("CAP_CHOWN", CapabilitySet::CHOWN),
    ("CAP_DAC_OVERRIDE", CapabilitySet::DAC_OVERRIDE),
    ("CAP_FOWNER", CapabilitySet::FOWNER),
    ("CAP_KILL", CapabilitySet::KILL),
];

/// The name that the JobTracker holds to processes of root's.
const ROOT: &str = "root";

/// Time for a JobTracker on this machine to take a connection, and how often and when it is looked whether it has accepted it.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);
const ACCEPT_LOOKS: u32 = 500;
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunAs {
    /// As the worker's own user.
    Worker,
    /// Each as its own user on this machine.
    JobUser(UserRules),
}

/// Whose jobs run under [`RunAs::JobUser`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserRules {
    /// Lowest user id (`jobtracker.worker.min-uid`).
    pub(crate) min_uid: u32,
    /// Users that are refused (`jobtracker.worker.banned-users`).
    pub(crate) banned: BTreeSet<String>,
    /// The JobTracker of this machine whose jobs of root's run as root, whatever the lowest id, while it is a process of root's: without
    /// a conf folder it holds the name root to the process that uses it.
    pub(crate) admits_root_of: Option<HostPort>,
    /// Whether their commands may gain rights (`jobtracker.worker.no-new-privileges` is false).
    pub(crate) may_gain: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Privileges {
    NotRoot,
    /// It is root, and lacks these capabilities.
    RootWithout(Vec<&'static str>),
    /// It may run processes of any user.
    Full,
}

/// Why a job does not run here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RefusedUser {
    #[error(
        "{user:?} is no user of this worker's machine, and jobs run as their users (jobtracker.worker.run-as = job-user); create the account there"
    )]
    Unknown { user: String },
    #[error("cannot look {user:?} up on this worker's machine: {source}")]
    Lookup { user: String, source: LookupError },
    #[error("{user:?} is one of jobtracker.worker.banned-users of this worker")]
    Banned { user: String },
    #[error("{user:?} has uid {uid} on this worker's machine, below jobtracker.worker.min-uid = {min_uid}")]
    BelowMinUid {
        user: String,
        uid: u32,
        /// The lowest id that is admitted.
        min_uid: u32,
    },
}

impl Privileges {
    pub(crate) fn of_process() -> Self {
        if !geteuid().is_root() {
            return Self::NotRoot;
        }
        let effective = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
        let lacking: Vec<_> = NEEDED.into_iter().filter(|(_, one)| !effective.contains(*one)).collect();
        if lacking.is_empty() {
            Self::Full
        } else {
            Self::RootWithout(lacking.into_iter().map(|(name, _)| name).collect())
        }
    }
}

impl RunAs {
    /// As configured, else each job as its user for a worker of root's.
    /// Errors: a bad value, or `job-user` for a worker that may not do that.
    pub(crate) fn read(
        configuration: &Configuration,
        has_conf_folder: bool,
        privileges: Privileges,
    ) -> Result<Self, ConfigError> {
        let is_standalone = !has_conf_folder && configuration.checked(&keys::RUN_AS)?.is_none();
        // A conf folder may name none.
        let jobtracker = is_standalone.then(|| configuration.address(&keys::RPC_ADDRESS)).transpose()?;
        let rules = UserRules {
            admits_root_of: jobtracker.filter(HostPort::is_loopback),
            min_uid: configuration.number(&keys::MIN_UID)?,
            banned: configuration.list(&keys::BANNED_USERS)?.into_iter().collect(),
            may_gain: !configuration.flag(&keys::NO_NEW_PRIVILEGES)?,
        };
        let Some(chosen) = configuration.checked(&keys::RUN_AS)? else {
            return Ok(if privileges == Privileges::Full { Self::JobUser(rules) } else { Self::Worker });
        };
        if chosen.value.trim() == "self" {
            return Ok(Self::Worker);
        }
        let why = match privileges {
            Privileges::Full => return Ok(Self::JobUser(rules)),
            Privileges::NotRoot => "this one is not root's".to_owned(),
            Privileges::RootWithout(lacking) => format!("this one lacks {}", lacking.join(", ")),
        };
        Err(ConfigError::BadValue {
            key: chosen.name,
            origin: chosen.origin,
            value: chosen.value,
            expected: format!("self, or a tasktracker started as root, which may run processes of other users: {why}"),
        })
    }
}

impl RunAs {
    /// Whether commands may gain rights that their user has not.
    pub(crate) fn may_gain(&self) -> bool {
        match self {
            Self::Worker => true,
            Self::JobUser(rules) => rules.may_gain,
        }
    }
}

impl UserRules {
    /// The user of a job, if its jobs run here. May wait for a directory server.
    pub(crate) fn admit(&self, user: &str) -> Result<LoginUser, RefusedUser> {
        let named = || user.to_owned();
        if self.banned.contains(user) {
            return Err(RefusedUser::Banned { user: named() });
        }
        let found = LoginUser::find(user).map_err(|source| RefusedUser::Lookup { user: named(), source })?;
        let found = found.ok_or_else(|| RefusedUser::Unknown { user: named() })?;
        let is_roots = || self.admits_root_of.as_ref().is_some_and(is_accepted_by_root);
        if found.uid < self.min_uid && !(found.uid == 0 && user == ROOT && is_roots()) {
            return Err(RefusedUser::BelowMinUid { user: named(), uid: found.uid, min_uid: self.min_uid });
        }
        Ok(found)
    }
}

/// Whether a process of root's accepts connections at an address of this machine, as the kernel says: any user may listen there
/// while no other does, and say that its jobs are root's.
#[expect(clippy::disallowed_methods, reason = "that another process accepts is no event that one could wait for")]
fn is_accepted_by_root(address: &HostPort) -> bool {
    let mut addresses = (address.host.as_str(), address.port).to_socket_addrs().into_iter().flatten();
    let connected = addresses.find_map(|address| TcpStream::connect_timeout(&address, ACCEPT_TIMEOUT).ok());
    let ends = connected.as_ref().and_then(|stream| Some((stream.local_addr().ok()?, stream.peer_addr().ok()?)));
    let Some((local, peer)) = ends.filter(|(_, peer)| peer.ip().to_canonical().is_loopback()) else { return false };
    for _ in 0..ACCEPT_LOOKS {
        // It has no owner until it is accepted.
        if let Some(uid) = uid_of_socket(peer, local) {
            return uid == 0;
        }
        std::thread::sleep(ACCEPT_PAUSE);
    }
    false
}

impl fmt::Display for UserRules {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "uid {} and above", self.min_uid)?;
        if self.admits_root_of.is_some() {
            out.write_str(", root's own as root while the JobTracker is root's")?;
        }
        if self.banned.is_empty() {
            return Ok(());
        }
        let banned: Vec<&str> = self.banned.iter().map(String::as_str).collect();
        write!(out, ", none of {}", banned.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn read(values: &[&str], has_conf_folder: bool, privileges: Privileges) -> Result<RunAs, String> {
        let mut configuration = Configuration::new(BTreeMap::new());
        if !has_conf_folder {
            configuration.add_standalone_default(&keys::RPC_ADDRESS, "127.0.0.1:8021");
        }
        values.iter().for_each(|value| configuration.add_override(value).unwrap());
        RunAs::read(&configuration, has_conf_folder, privileges).map_err(|error| error.to_string())
    }

    fn rules(min_uid: u32, banned: &[&str]) -> UserRules {
        let banned = banned.iter().map(|name| (*name).to_owned()).collect();
        UserRules { min_uid, banned, admits_root_of: None, may_gain: false }
    }

    #[test]
    fn a_worker_of_root_runs_jobs_as_their_users_unless_it_says_otherwise() {
        let by_default = rules(1000, &["mapred", "hdfs", "bin"]);
        let jobtracker = HostPort::parse("127.0.0.1:8021");
        let standalone = UserRules { admits_root_of: jobtracker, ..by_default.clone() };
        assert_eq!(read(&[], true, Privileges::Full), Ok(RunAs::JobUser(by_default.clone())));
        assert_eq!(read(&[], false, Privileges::Full), Ok(RunAs::JobUser(standalone.clone())));
        let elsewhere = ["mapred.job.tracker=jt.example.com:8021"];
        assert_eq!(read(&elsewhere, false, Privileges::Full), Ok(RunAs::JobUser(by_default.clone())));
        let written = ["jobtracker.worker.run-as=job-user"];
        assert_eq!(read(&written, false, Privileges::Full), Ok(RunAs::JobUser(by_default)));
        for privileges in [Privileges::NotRoot, Privileges::RootWithout(vec!["CAP_SETUID"])] {
            assert_eq!(read(&[], true, privileges), Ok(RunAs::Worker));
        }
        assert_eq!(read(&["jobtracker.worker.run-as=self"], true, Privileges::Full), Ok(RunAs::Worker));
    }

    /// The name root is held to processes of root's by a JobTracker of root's only.
    #[test]
    fn jobs_of_root_run_as_root_where_the_jobtracker_is_a_process_of_roots() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let standalone = UserRules { admits_root_of: HostPort::parse(&address.to_string()), ..rules(1000, &[]) };
        let refused = standalone.admit("root").unwrap_err().to_string();
        assert!(refused.contains("below jobtracker.worker.min-uid"), "no process has accepted: {refused}");
        let accepting = std::thread::spawn(move || {
            // The one that was given up first.
            let both = [listener.accept(), listener.accept()];
            both.map(|accepted| accepted.map(|(stream, _)| stream))
        });
        assert_eq!(standalone.admit("root").is_ok(), geteuid().is_root());
        drop(accepting.join());
        assert!(standalone.admit("root").is_err(), "it is gone");
    }

    #[test]
    fn a_worker_that_cannot_is_refused_with_the_key() {
        let asked = ["jobtracker.worker.run-as=job-user"];
        let texts = [
            read(&asked, true, Privileges::NotRoot).unwrap_err(),
            read(&asked, true, Privileges::RootWithout(vec!["CAP_SETUID", "CAP_KILL"])).unwrap_err(),
            read(&["jobtracker.worker.run-as=root"], true, Privileges::Full).unwrap_err(),
            read(&["jobtracker.worker.min-uid=-1"], true, Privileges::Full).unwrap_err(),
        ];
        insta::assert_snapshot!(texts.join("\n"), @r#"
        -D: jobtracker.worker.run-as = "job-user": expected self, or a tasktracker started as root, which may run processes of other users: this one is not root's
        -D: jobtracker.worker.run-as = "job-user": expected self, or a tasktracker started as root, which may run processes of other users: this one lacks CAP_SETUID, CAP_KILL
        -D: jobtracker.worker.run-as = "root": expected job-user or self
        -D: jobtracker.worker.min-uid = "-1": expected a whole number from 0 to 4294967294
        "#);
    }

    #[test]
    fn users_are_refused_with_the_key() {
        let texts = [
            rules(1000, &[]).admit("root").unwrap_err(),
            rules(0, &["root"]).admit("root").unwrap_err(),
            rules(0, &[]).admit("no_such_user_here").unwrap_err(),
            rules(0, &[]).admit("0").unwrap_err(),
        ];
        insta::assert_snapshot!(texts.map(|refused| refused.to_string()).join("\n"), @r#"
        "root" has uid 0 on this worker's machine, below jobtracker.worker.min-uid = 1000
        "root" is one of jobtracker.worker.banned-users of this worker
        "no_such_user_here" is no user of this worker's machine, and jobs run as their users (jobtracker.worker.run-as = job-user); create the account there
        "0" is no user of this worker's machine, and jobs run as their users (jobtracker.worker.run-as = job-user); create the account there
        "#);
        assert_eq!(rules(0, &[]).admit("root").unwrap().uid, 0);
    }
}
