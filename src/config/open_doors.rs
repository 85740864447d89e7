//! Open doors: access that a configuration leaves to others, and the key that closes each. They are not errors: Hadoop's defaults leave
//! most of them open, and a drop-in replacement keeps them; `check-config` prints them.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

use super::configuration::{Configuration, Setting};
use super::contradictions::some_of;
use super::error::Origin;
use super::keys;
use super::keys::Key;
use super::settings::DYNAMIC_CLASS;
use super::unread_keys::unread_key;

/// Permission bits of a file that its group or others may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Permission bits of a file that others than its owner and group may read.
const READABLE_BY_OTHERS: u32 = 0o004;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Information, or a missing second line of defence.
    Low,
    /// Resources, or other users' jobs.
    Medium,
    /// Money, or the rights of the daemon.
    High,
}

/// One kind of access that others have, and how to close it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenDoor {
    pub(crate) severity: Severity,
    pub(crate) key: String,
    /// Its value; `None` if it is not set.
    pub(crate) value: Option<String>,
    pub(crate) origin: Origin,
    /// What others can do.
    pub(crate) exposure: &'static str,
    /// The setting that closes it.
    pub(crate) remedy: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grade {
    /// No open door.
    A,
    /// Doors of [`Severity::Low`] only.
    B,
    /// At least one of [`Severity::Medium`].
    C,
    /// At least one of [`Severity::High`].
    D,
}

/// The open doors of a JobTracker, the worst first.
#[must_use]
pub(crate) fn of_jobtracker(configuration: &Configuration) -> Vec<OpenDoor> {
    let values = Values { configuration };
    let mut doors = values.callers();
    doors.extend(values.trackers());
    doors.extend(values.notifications());
    doors.extend(values.web());
    doors.extend(values.market());
    doors.extend(values.files());
    worst_first(doors)
}

/// The open doors of a built-in tasktracker, the worst first.
#[must_use]
pub(crate) fn of_tasktracker(configuration: &Configuration) -> Vec<OpenDoor> {
    let values = Values { configuration };
    let mut doors: Vec<_> = values.tracker_web().into_iter().collect();
    doors.extend(values.jobs_of_root());
    doors.extend(values.jobs_as_root());
    doors.extend(values.temporary_folder());
    worst_first(doors)
}

fn worst_first(mut doors: Vec<OpenDoor>) -> Vec<OpenDoor> {
    doors.sort_by_key(|door| std::cmp::Reverse(door.severity));
    doors
}

impl Grade {
    #[must_use]
    pub(crate) fn of(doors: &[OpenDoor]) -> Self {
        match doors.iter().map(|door| door.severity).max() {
            None => Grade::A,
            Some(Severity::Low) => Grade::B,
            Some(Severity::Medium) => Grade::C,
            Some(Severity::High) => Grade::D,
        }
    }
}

struct Values<'a> {
    configuration: &'a Configuration,
}

impl Values<'_> {
    fn callers(&self) -> Vec<OpenDoor> {
        let mut doors = Vec::new();
        if self.is_reached_by_others(&keys::RPC_ADDRESS) {
            doors.extend(self.door(
                &keys::RPC_ADDRESS,
                Severity::Medium,
                "every machine that reaches this port can call under any user name",
                "let a firewall admit clients and workers only, or set a loopback address",
            ));
        }
        if !self.is_on(&keys::ACLS_ENABLED) {
            let exposure = match self.are_changes_signed() {
                false => "every caller can kill any job and change its priority",
                true => "every user with a key can kill any job and change its priority",
            };
            doors.extend(self.door(
                &keys::ACLS_ENABLED,
                self.reach_of_rpc(),
                exposure,
                "set mapred.acls.enabled = true",
            ));
        } else {
            doors.extend(self.queue_lists());
            doors.extend(self.lists_of_no_queue());
        }
        // Where users have keys, a believed name is a way around them.
        if (self.has_market() || self.has_acl_file()) && !self.are_changes_signed() {
            let exposure = "every caller, local users too, can kill and reorder another user's jobs under that user's \
                            name, although users have keys";
            doors.extend(self.door(
                &keys::JOB_CHANGES,
                Severity::High,
                exposure,
                "set jobtracker.job-changes = signed",
            ));
        }
        let administrators = self.setting(&keys::ADMINISTRATORS);
        if administrators.is_some_and(|setting| setting.value.trim() == "*") {
            doors.extend(self.door(
                &keys::ADMINISTRATORS,
                Severity::High,
                "every caller is an administrator",
                "list users and groups",
            ));
        }
        doors
    }

    /// Queues whose jobs anyone may kill although access lists are on.
    fn queue_lists(&self) -> Vec<OpenDoor> {
        let names = self.configuration.list(&keys::QUEUE_NAMES).unwrap_or_default();
        let open = names.iter().filter_map(|queue| {
            let setting = self.configuration.queue_setting(&keys::QUEUE_ACL_ADMINISTER, queue).ok()?;
            let is_open = setting.as_ref().is_none_or(|setting| setting.value.trim() == "*");
            let key = keys::QUEUE_ACL_ADMINISTER.name.replace("<queue>", queue);
            is_open.then(|| OpenDoor {
                severity: Severity::Medium,
                remedy: format!("set {key} to users and groups"),
                key,
                value: setting.as_ref().map(|setting| setting.value.clone()),
                origin: setting.map_or(Origin::Default, |setting| setting.origin),
                exposure: "every caller can kill and reorder jobs of this queue",
            })
        });
        open.collect()
    }

    /// Access lists that nothing reads, since no queue or no key has their name: the queue that was meant is open.
    fn lists_of_no_queue(&self) -> Vec<OpenDoor> {
        let names = self.configuration.list(&keys::QUEUE_NAMES).unwrap_or_default();
        let lists = [&keys::QUEUE_ACL_SUBMIT, &keys::QUEUE_ACL_ADMINISTER];
        let narrow = self.configuration.written().filter(|(_, value, _)| value.trim() != "*");
        let found = narrow.filter_map(|(name, value, origin)| {
            let remedy = match lists.iter().find_map(|key| key.queue_in(name)) {
                Some(queue) if names.iter().any(|listed| listed == queue) => return None,
                Some(_) => format!("give it the name of a queue of mapred.queue.names: {}", some_of(&names)),
                None => {
                    let similar = unread_key(name)?.similar;
                    let is_list = |key: &String| lists.iter().any(|list| list.is_spelled(key));
                    let is_like_one = name.starts_with("mapred.queue") && name.contains("acl");
                    let any = || is_like_one.then(|| lists.map(|key| key.name).join(" or "));
                    format!("name it {}", similar.filter(is_list).or_else(any)?)
                }
            };
            Some(OpenDoor {
                severity: Severity::High,
                key: name.to_owned(),
                value: Some(value.to_owned()),
                origin: origin.clone(),
                exposure: "this access list protects no queue: the one that was meant is open to every caller",
                remedy,
            })
        });
        found.collect()
    }

    /// Machines that run tasks.
    fn trackers(&self) -> Vec<OpenDoor> {
        if !self.is_reached_by_others(&keys::RPC_ADDRESS) {
            return Vec::new();
        }
        let severity = if self.has_market() { Severity::High } else { Severity::Medium };
        if self.setting(&keys::HOSTS).is_some() {
            let is_listed = self.setting(&keys::TRACKERS_ADMIT).is_some_and(|setting| setting.value.trim() == "listed");
            let exposure = "every machine can register as a tracker under a listed host's name";
            let door = self.door(&keys::TRACKERS_ADMIT, severity, exposure, "set jobtracker.trackers.admit = listed");
            return door.into_iter().filter(|_| !is_listed).collect();
        }
        let exposure = match self.has_market() {
            true => "every machine can register as a tracker, receive tasks with their tokens, and cause charges",
            false => "every machine can register as a tracker and receive tasks with their tokens",
        };
        let remedy = "set mapred.hosts to a file of host names and jobtracker.trackers.admit = listed";
        self.unset_door(&keys::HOSTS, severity, exposure, remedy).into_iter().collect()
    }

    fn notifications(&self) -> Option<OpenDoor> {
        let targets = self.configuration.list(&keys::END_NOTIFICATION_TARGETS).ok()?;
        let exposure = "a job can make the daemon send requests to every host that the daemon reaches";
        let remedy = "list the hosts that receive notifications";
        let door = self.door(&keys::END_NOTIFICATION_TARGETS, Severity::Medium, exposure, remedy);
        door.filter(|_| targets.iter().any(|target| target == "*"))
    }

    fn web(&self) -> Vec<OpenDoor> {
        let mut doors = Vec::new();
        if self.is_reached_by_others(&keys::HTTP_ADDRESS) {
            doors.extend(self.door(
                &keys::HTTP_ADDRESS,
                Severity::Low,
                "every machine that reaches this port can read the pages: names, users and progress of jobs",
                "set a loopback address and put an authenticating proxy in front",
            ));
        }
        if self.configuration.list(&keys::WEB_HOSTS).is_ok_and(|names| names.iter().any(|name| name == "*")) {
            doors.extend(self.door(
                &keys::WEB_HOSTS,
                Severity::Medium,
                "a web page can read this server through the browser of a visitor (DNS rebinding)",
                "list the names in use",
            ));
        }
        if self.is_on(&keys::WEB_GET_CHANGES) && self.is_on(&keys::PRIVATE_ACTIONS) {
            doors.extend(self.door(
                &keys::WEB_GET_CHANGES,
                Severity::High,
                "any link or web page moves jobs between pools, and changes their priority, through the browser of a visitor",
                "set jobtracker.web.get-changes = false, and send POST",
            ));
        }
        if self.configuration.list(&keys::FILTER_INITIALIZERS).is_ok_and(|names| !names.is_empty()) {
            doors.extend(self.door(
                &keys::FILTER_INITIALIZERS,
                Severity::Medium,
                "requests to Hadoop's pages are believed who they say they are, and so see and change that user's jobs",
                "leave it unset, and use signed commands",
            ));
        }
        doors
    }

    fn market(&self) -> Vec<OpenDoor> {
        if self.are_changes_signed() && !self.has_market() {
            return Vec::new();
        }
        if !self.has_market() {
            let exposure = "jobs carry no signature: every caller can submit under any user name";
            let remedy =
                format!("set jobtracker.job-changes = signed, or mapred.jobtracker.taskScheduler = {DYNAMIC_CLASS}");
            return self.door(&keys::TASK_SCHEDULER, self.reach_of_rpc(), exposure, remedy).into_iter().collect();
        }
        let uses = self.setting(&keys::JOB_SIGNATURE_USES).and_then(|setting| keys::parse_number(&setting.value));
        let mut doors = Vec::new();
        let visibility = self.setting(&keys::MARKET_VISIBILITY);
        if visibility.is_some_and(|setting| setting.value.trim() == "public") {
            doors.extend(self.door(
                &keys::MARKET_VISIBILITY,
                Severity::Low,
                "every reader of the pages can compute each queue's bid",
                "set jobtracker.market.visibility = private",
            ));
        }
        if uses.is_some_and(|uses| uses > 1) {
            doors.extend(self.door(
                &keys::JOB_SIGNATURE_USES,
                Severity::Medium,
                "a reader of a job's properties can submit another job under its signature",
                "set mapred.dynamic-scheduler.job-signature-uses = 1",
            ));
        }
        doors
    }

    fn files(&self) -> Vec<OpenDoor> {
        let mut doors: Vec<_> = self.temporary_folder().into_iter().collect();
        // Where the ACL file is, there is a market, whether it rules or not.
        if self.has_acl_file() {
            doors
                .extend(self.writable(&keys::ACL_FILE, "local users can make themselves administrators of the market"));
            doors.extend(self.readable(&keys::ACL_FILE, "local users can read every signing key"));
            doors.extend(
                self.writable(
                    &keys::BUDGET_FILE,
                    "local users can change what a stopped daemon reads at its next start",
                ),
            );
        }
        if self.is_on(&keys::CONTAINERS_ENABLED) {
            let exposure = "local users can run containers under any user name";
            doors.extend(self.writable(&keys::CONTAINERS_ACL_FILE, exposure));
            doors.extend(self.readable(&keys::CONTAINERS_ACL_FILE, exposure));
        }
        let script = "local users can run programs with the rights of the daemon";
        doors.extend(self.writable(&keys::TOPOLOGY_SCRIPT, script));
        doors.extend(self.writable(&keys::HOSTS, "local users can admit trackers"));
        doors.extend(self.writable(&keys::HOSTS_EXCLUDE, "local users can exclude trackers"));
        doors
    }

    fn temporary_folder(&self) -> Option<OpenDoor> {
        let folder = self.configuration.local_path(&keys::HADOOP_TMP_DIR).ok().flatten()?;
        let is_shared = ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|shared| folder.starts_with(shared));
        let exposure = "local users can create this directory first and prevent the daemon from starting";
        let remedy = "set hadoop.tmp.dir to a directory of the daemon's user outside /tmp";
        self.door(&keys::HADOOP_TMP_DIR, Severity::Low, exposure, remedy).filter(|_| is_shared)
    }

    fn tracker_web(&self) -> Option<OpenDoor> {
        let exposure = "every machine that reaches this port can read the logs of all tasks";
        let remedy = "set mapred.acls.enabled = true, or let a firewall admit the workers and the JobTracker only";
        let door = self.door(&keys::TRACKER_HTTP_ADDRESS, Severity::Medium, exposure, remedy);
        // With access lists logs need tickets of the JobTracker.
        door.filter(|_| self.is_reached_by_others(&keys::TRACKER_HTTP_ADDRESS) && !self.is_on(&keys::ACLS_ENABLED))
    }

    /// Of a worker that runs jobs as their users.
    fn jobs_of_root(&self) -> Option<OpenDoor> {
        let lowest = self.setting(&keys::MIN_UID).and_then(|setting| keys::parse_number(&setting.value));
        let exposure = "a job under the name root runs as root on this machine";
        let remedy = "set jobtracker.worker.min-uid to the lowest user id of a person, such as 1000";
        self.door(&keys::MIN_UID, Severity::High, exposure, remedy).filter(|_| lowest == Some(0))
    }

    /// Of a worker that runs jobs as itself, which may be root.
    fn jobs_as_root(&self) -> Option<OpenDoor> {
        let is_self = self.setting(&keys::RUN_AS).is_some_and(|setting| setting.value.trim() == "self");
        let exposure = "where this worker is root's, everybody who can submit a job runs it as root on this machine";
        let remedy = "set jobtracker.worker.run-as = job-user";
        self.door(&keys::RUN_AS, Severity::High, exposure, remedy).filter(|_| is_self && geteuid().is_root())
    }

    fn writable(&self, key: &Key, exposure: &'static str) -> Option<OpenDoor> {
        let path = self.configuration.local_path(key).ok().flatten()?;
        let mode = mode_of(&path)?;
        let remedy = format!("chmod go-w {}", path.display());
        self.door(key, Severity::High, exposure, remedy).filter(|_| mode & WRITABLE_BY_OTHERS != 0)
    }

    fn readable(&self, key: &Key, exposure: &'static str) -> Option<OpenDoor> {
        let path = self.configuration.local_path(key).ok().flatten()?;
        let mode = mode_of(&path)?;
        let remedy = format!("chmod o-r {}", path.display());
        self.door(key, Severity::High, exposure, remedy).filter(|_| mode & READABLE_BY_OTHERS != 0)
    }

    fn door(
        &self,
        key: &Key,
        severity: Severity,
        exposure: &'static str,
        remedy: impl Into<String>,
    ) -> Option<OpenDoor> {
        let Setting { name, value, origin, .. } = self.setting(key)?;
        Some(OpenDoor { severity, key: name, value: Some(value), origin, exposure, remedy: remedy.into() })
    }

    fn unset_door(&self, key: &Key, severity: Severity, exposure: &'static str, remedy: &str) -> Option<OpenDoor> {
        let door = OpenDoor {
            severity,
            key: key.name.to_owned(),
            value: None,
            origin: Origin::Default,
            exposure,
            remedy: remedy.to_owned(),
        };
        self.setting(key).is_none().then_some(door)
    }

    fn setting(&self, key: &Key) -> Option<Setting> {
        self.configuration.checked(key).ok().flatten()
    }

    fn is_on(&self, key: &Key) -> bool {
        self.configuration.flag(key).unwrap_or(false)
    }

    fn are_changes_signed(&self) -> bool {
        self.setting(&keys::JOB_CHANGES).is_some_and(|setting| setting.value.trim() == "signed")
    }

    fn has_acl_file(&self) -> bool {
        self.configuration.local_path(&keys::ACL_FILE).ok().flatten().is_some_and(|path| path.exists())
    }

    fn has_market(&self) -> bool {
        self.setting(&keys::TASK_SCHEDULER).is_some_and(|class| class.value.trim() == DYNAMIC_CLASS)
    }

    fn is_reached_by_others(&self, key: &Key) -> bool {
        self.configuration.address(key).is_ok_and(|address| !address.is_loopback())
    }

    /// Severity of access through the RPC port: higher if callers come from the network.
    fn reach_of_rpc(&self) -> Severity {
        if self.is_reached_by_others(&keys::RPC_ADDRESS) { Severity::High } else { Severity::Medium }
    }
}

fn mode_of(path: &Path) -> Option<u32> {
    Some(std::fs::metadata(path).ok()?.mode())
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
        })
    }
}

impl fmt::Display for OpenDoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, key, value, origin, exposure, remedy } = self;
        write!(f, "open door ({severity}): {origin}: {key} ")?;
        match value {
            Some(value) => write!(f, "= {value:?}")?,
            None => f.write_str("is not set")?,
        }
        write!(f, ": {exposure}; {remedy}")
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Grade::A => "A, no open door",
            Grade::B => "B, only low",
            Grade::C => "C, at least one medium",
            Grade::D => "D, at least one high",
        })
    }
}

#[cfg(test)]
#[path = "tests/open_doors.rs"]
mod tests;
