//! The ids of a job's user, taken by the process of an attempt for good.

use std::io;

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{DumpableBehavior, Gid, Uid, getegid, geteuid, getgid, getuid, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};
use serde::{Deserialize, Serialize};

use crate::accounts::LoginUser;

/// Whose ids a process takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    user: String,
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
    /// Whether its commands may gain what they have not: by files of other users that are executed with these users' rights.
    may_gain: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot run as {user:?} (uid {uid}): {reason}")]
pub(crate) struct IdentityError {
    user: String,
    uid: u32,
    reason: String,
}

impl Identity {
    pub(crate) fn of(user: &LoginUser, may_gain: bool) -> Self {
        Self { user: user.name.clone(), uid: user.uid, gid: user.gid, groups: user.groups.clone(), may_gain }
    }

    /// Takes the ids, from which no way leads back. The process must have one thread: the kernel changes those of a thread, and threads
    /// inherit them.
    pub(crate) fn take(&self) -> Result<(), IdentityError> {
        let failed = |reason: String| IdentityError { user: self.user.clone(), uid: self.uid, reason };
        let of_system = |what: &'static str| move |error: io::Error| failed(format!("{what}: {error}"));
        let threads = std::fs::read_dir("/proc/self/task").map_err(of_system("cannot count threads"))?.count();
        if threads != 1 {
            return Err(failed(format!("the process has {threads} threads; expected one")));
        }
        // By these `/proc/PID/stat` counts. Before Linux 6.4 they are read from a file of the process itself, which it may not open once it
        // is private.
        let _ = (page_size(), clock_ticks_per_second());
        let groups: Vec<Gid> = self.groups.iter().map(|group| Gid::from_raw(*group)).collect();
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        // Groups first, while it may.
        set_thread_groups(&groups).map_err(io::Error::from).map_err(of_system("setgroups"))?;
        set_thread_res_gid(gid, gid, gid).map_err(io::Error::from).map_err(of_system("setresgid"))?;
        set_thread_res_uid(uid, uid, uid).map_err(io::Error::from).map_err(of_system("setresuid"))?;
        // No command of this user may look into this process, which has the job's secret and the worker's socket.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(io::Error::from)
            .map_err(of_system("cannot become private"))?;
        if (getuid(), geteuid(), getgid(), getegid()) != (uid, uid, gid, gid) {
            return Err(failed("the system has not changed the ids".to_owned()));
        }
        if !self.may_gain {
            set_no_new_privs(true).map_err(io::Error::from).map_err(of_system("cannot give up new privileges"))?;
        }
        if uid.is_root() {
            return Ok(());
        }
        let none = CapabilitySet::empty();
        set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
            .map_err(io::Error::from)
            .map_err(of_system("cannot drop capabilities"))?;
        let left = capabilities(None).map_err(io::Error::from).map_err(of_system("cannot read capabilities"))?;
        if !(left.effective | left.permitted | left.inheritable).is_empty() {
            return Err(failed(format!("capabilities are left: {left:?}")));
        }
        if set_thread_res_uid(None::<Uid>, Uid::ROOT, None::<Uid>).is_ok() {
            return Err(failed("the process can become root again".to_owned()));
        }
        Ok(())
    }
}
