//! Runs each container on a thread of its own, with its folder, its logs and its control group, in a process of its user's where
//! commands run as their users.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use crate::accounts::LoginUser;
use crate::api::{ContainerEnd, ContainerLaunch};
use crate::clock::wall_ms;
use crate::config::Configuration;
use crate::model::{ContainerExit, ContainerId, LaunchContext, LocalResource, LogKey, ResourceKind};
use crate::streaming::environment::home_of_commands;
use crate::supervisor::process_tree::CommandTree;
use crate::supervisor::{Keepers, Supervision};
use crate::wire::limits::shorten;
use crate::worker::run_as::{RefusedUser, RunAs, UserRules};

use super::control::ContainerControl;
use super::control_groups::{ContainerGroup, ControlGroups, ProcessLooks};
use super::logs::{ContainerLogs, LogSums};
use super::order::ContainerOrder;
use super::own_folders::OwnFolders;
use super::resource_cache::ResourceCaches;
use super::run::{ContainerRun, over_memory, whole_mb};
use super::table::{ContainerEvent, ContainerMessage};
use super::user_container::UserContainer;

/// Longest text about an end, bytes: beats have a limit.
const MAX_DIAGNOSTICS_BYTES: usize = 4 << 10;

/// A look at all processes serves for all containers that are measured so soon after it.
const MEASURED_TOGETHER: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct ContainerRunner {
    pub(crate) folders: OwnFolders,
    pub(crate) logs: ContainerLogs,
    pub(crate) environment: BTreeMap<String, String>,
    /// Says which `HOME` commands get.
    pub(crate) configuration: Configuration,
    /// Watch over commands, unless each is watched over by a process of its user.
    pub(crate) keepers: Option<Arc<Keepers>>,
    pub(crate) run_as: RunAs,
    /// Their users that were looked up lately.
    pub(crate) users: AdmittedUsers,
    /// The worker's `host:web port`.
    pub(crate) node_id: String,
    pub(crate) log_limit_bytes: u64,
    pub(crate) memory_interval: Duration,
    /// Control groups, where there are.
    pub(crate) groups: Option<ControlGroups>,
    pub(crate) caches: ResourceCaches,
    /// Measures memory where there are none.
    pub(crate) looks: ProcessLooks,
    /// How much the logs of those that have ended take.
    pub(crate) log_sums: Mutex<LogSums>,
    /// The containers whose threads run.
    pub(crate) live: Mutex<BTreeSet<ContainerId>>,
    pub(crate) events: UnboundedSender<ContainerMessage>,
}

impl ContainerRunner {
    /// Starts the thread of a container; without one the container has ended.
    pub(crate) fn start(self: &Arc<Self>, launch: ContainerLaunch, control: Arc<ContainerControl>) {
        let (runner, id) = (self.clone(), launch.id);
        self.live().insert(id);
        let run = move || {
            let ran = std::panic::AssertUnwindSafe(|| runner.run_to_end(launch, &control));
            let broken = |_| failed(ContainerExit::ABORTED, "the worker itself failed; see its log".to_owned());
            runner.end(id, std::panic::catch_unwind(ran).unwrap_or_else(broken));
        };
        if let Err(error) = std::thread::Builder::new().name(format!("container {}", id.number)).spawn(run) {
            self.end(id, failed(ContainerExit::ABORTED, format!("the worker cannot start a thread: {error}")));
        }
    }

    fn live(&self) -> MutexGuard<'_, BTreeSet<ContainerId>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, id: ContainerId, mut end: ContainerEnd) {
        shorten(&mut end.diagnostics, MAX_DIAGNOSTICS_BYTES);
        tracing::debug!("{id}: {end:?}");
        self.live().remove(&id);
        self.send(id, ContainerEvent::Ended(end));
    }

    fn send(&self, id: ContainerId, event: ContainerEvent) {
        // The receiver is gone when the worker ends.
        let _ = self.events.send((id, event));
    }

    /// Measures containers by their first processes. Reads files of `/proc` and of control groups.
    pub(crate) fn measure(&self, running: &[(ContainerId, u32)]) {
        // Without a supervisor the first process is the command.
        let with_root = self.keepers.is_none() && matches!(self.run_as, RunAs::Worker);
        for (id, pid) in running {
            let of_group = self.groups.as_ref().and_then(|groups| groups.use_of(*id));
            let used = of_group.unwrap_or_else(|| {
                let root = i32::try_from(*pid).unwrap_or(0);
                self.looks.use_of(CommandTree { root, with_root }, MEASURED_TOGETHER)
            });
            self.send(*id, ContainerEvent::Measured(used));
        }
    }

    pub(crate) fn remove_old_logs(&self) {
        let live: BTreeSet<String> = self.live().iter().map(ContainerId::to_string).collect();
        self.logs.remove_old(&|name| live.contains(name));
        let mut sums = self.log_sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.retain(|id| self.logs.bytes_of(id) > 0);
    }

    /// Removes the oldest logs of the application and the user of a container that has ended, while they are too much.
    fn limit_logs(&self, user: &str, id: ContainerId) {
        let bytes = self.logs.bytes_of(id);
        let gone = self.log_sums.lock().unwrap_or_else(PoisonError::into_inner).add(user, id, bytes);
        gone.into_iter().for_each(|id| self.logs.remove(id));
    }

    /// Removes what ended containers have left on the disks, but for their logs. Nothing waits for it.
    pub(crate) fn clear_later(&self, ended: impl IntoIterator<Item = ContainerId>) {
        ended.into_iter().for_each(|id| self.folders.clear_later(id));
    }

    /// Ends the keepers that had no command for so long.
    pub(crate) fn end_idle_keepers(&self, time: Duration) {
        if let Some(keepers) = &self.keepers {
            keepers.end_idle(time);
        }
    }

    fn run_to_end(&self, launch: ContainerLaunch, control: &ContainerControl) -> ContainerEnd {
        let user = match &self.run_as {
            RunAs::Worker => None,
            RunAs::JobUser(rules) => match self.users.admit(rules, &launch.user) {
                Ok(user) => Some(user),
                Err(refused) => return failed(exit_of(&refused), refused.to_string()),
            },
        };
        let id = launch.id;
        let has_files = shares_files(&launch.context);
        let disk = self.folders.next_disk();
        let made = self.folders.make(disk, id, user.as_ref()).and_then(|folder| {
            let shared_files = if has_files { self.caches.folder_of(disk, user.as_ref())? } else { None };
            let logs = self.logs.create(id, &launch.user, LogKey::from_hex(&launch.log_key).as_ref())?;
            Ok((folder, shared_files, logs))
        });
        let (folder, shared_files, logs) = match made {
            Ok(made) => made,
            // Below folders of the worker's own.
            Err(error) => return failed(ContainerExit::DISKS_FAILED, error.to_string()),
        };
        let group = match self.groups.as_ref().map(|groups| groups.make(id, launch.capability)).transpose() {
            Ok(group) => group,
            Err(error) => return failed(ContainerExit::ABORTED, format!("it gets no control group: {error}")),
        };
        let for_command = group.as_ref().map(ContainerGroup::for_command);
        let (own_group, group_of_process) = if user.is_some() { (None, for_command) } else { (for_command, None) };
        let order = ContainerOrder {
            launch,
            folder,
            shared_files,
            environment: self.environment_of(user.as_ref()),
            node_id: self.node_id.clone(),
            log_limit_bytes: self.log_limit_bytes,
            memory_interval: self.memory_interval,
            group: own_group,
            watches_memory: group.is_none(),
        };
        let on_started = |pid, started_ms| self.send(id, ContainerEvent::Started { pid, started_ms });
        let mut end = match &user {
            None => {
                let supervision = self.keepers.as_ref().map_or(Supervision::Absent, Supervision::Keeper);
                let looks = &self.looks;
                ContainerRun { order: &order, control, supervision, looks, on_started: &on_started }.run(logs)
            }
            Some(user) => {
                let group = group_of_process;
                let may_gain = self.run_as.may_gain();
                UserContainer { order: &order, control, user, may_gain, group, on_started: &on_started }.run(&logs)
            }
        };
        if let Some(group) = &group {
            count_group(group, &order, &mut end);
        }
        self.limit_logs(&order.launch.user, id);
        end
    }
}

impl ContainerRunner {
    /// The worker's environment, with the `HOME` that commands of this user get, as tasks do; none: the worker's own user.
    fn environment_of(&self, user: Option<&LoginUser>) -> BTreeMap<String, String> {
        let mut environment = self.environment.clone();
        let own = user.map_or_else(|| environment.get("HOME").cloned(), |user| Some(user.home.clone()));
        // Its settings were checked at the start.
        let home = home_of_commands(&self.configuration, own.as_ref()).ok();
        environment.extend(home.map(|home| ("HOME".to_owned(), home)));
        environment
    }
}

/// Whether the files of its context may be those that other containers of its user have too.
fn shares_files(context: &LaunchContext) -> bool {
    let is_file = |resource: &LocalResource| matches!(resource, LocalResource::Brought(brought) if brought.kind == ResourceKind::File);
    context.working_directory.is_none() && context.local_resources.values().any(is_file)
}

/// Adds to an end what the kernel has counted, and what it has killed for.
fn count_group(group: &ContainerGroup, order: &ContainerOrder, end: &mut ContainerEnd) {
    let counts = group.counts();
    end.peak_memory_mb = counts.peak_bytes.map_or(end.peak_memory_mb, whole_mb);
    end.cpu_ms = counts.cpu_ms.unwrap_or(end.cpu_ms);
    if counts.oom_kills > 0 && end.exit == ContainerExit::of_signal(9) {
        let limit_bytes = order.memory_limit_bytes();
        // What it wanted beyond the limit, it never had.
        (end.exit, end.diagnostics) = over_memory(limit_bytes.saturating_add(1), limit_bytes);
        end.diagnostics.push_str("; killed by the kernel");
    }
}

/// The status of a container whose user is not admitted: of the node where it could not look the user up, which another node
/// or a later try may.
fn exit_of(refused: &RefusedUser) -> ContainerExit {
    match refused {
        RefusedUser::Lookup { .. } => ContainerExit::ABORTED,
        RefusedUser::Unknown { .. } | RefusedUser::Banned { .. } | RefusedUser::BelowMinUid { .. } => {
            ContainerExit::INVALID
        }
    }
}

/// The end of a container that never ran.
fn failed(exit: ContainerExit, diagnostics: String) -> ContainerEnd {
    ContainerEnd { exit, diagnostics, started_ms: None, ended_ms: wall_ms(), peak_memory_mb: 0, cpu_ms: 0 }
}

/// For so long an answer is good. Jobs look their user up once, when they come to a worker.
const GOOD_FOR: Duration = Duration::from_secs(30);

/// Users that were admitted lately. Refusals are not kept: an account may be created in between.
#[derive(Debug, Default)]
pub(crate) struct AdmittedUsers {
    /// By name, with the time until which they are good.
    found: Mutex<BTreeMap<String, (Instant, LoginUser)>>,
}

impl AdmittedUsers {
    /// The user of a container, if its containers run here. May wait for a directory server; others do not wait for that.
    pub(crate) fn admit(&self, rules: &UserRules, user: &str) -> Result<LoginUser, RefusedUser> {
        self.admit_at(Instant::now(), user, || rules.admit(user))
    }

    fn admit_at(
        &self,
        now: Instant,
        user: &str,
        look_up: impl FnOnce() -> Result<LoginUser, RefusedUser>,
    ) -> Result<LoginUser, RefusedUser> {
        let known = self.with(|found| found.get(user).filter(|(until, _)| now < *until).map(|(_, one)| one.clone()));
        if let Some(known) = known {
            return Ok(known);
        }
        let one = look_up()?;
        self.with(|found| {
            found.retain(|_, (until, _)| now < *until);
            found.insert(user.to_owned(), (now + GOOD_FOR, one.clone()));
        });
        Ok(one)
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<String, (Instant, LoginUser)>) -> T) -> T {
        act(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use crate::accounts::LookupError;
    use crate::program::ProgramError;

    use super::*;

    #[test]
    fn a_user_that_cannot_be_looked_up_is_no_fault_of_the_container() {
        let user = || "alice".to_owned();
        let of_program = |source| {
            exit_of(&RefusedUser::Lookup { user: user(), source: LookupError::Program { program: "id", source } })
        };
        let slow = of_program(ProgramError::TooSlow(Duration::from_secs(10)));
        let short = of_program(ProgramError::Io(io::ErrorKind::OutOfMemory.into()));
        assert!(!slow.is_own_fault() && !short.is_own_fault());
        assert!(exit_of(&RefusedUser::Unknown { user: user() }).is_own_fault());
        assert!(exit_of(&RefusedUser::Banned { user: user() }).is_own_fault());
    }

    fn user(name: &str, uid: u32) -> LoginUser {
        LoginUser { name: name.to_owned(), uid, gid: uid, groups: vec![uid], home: "/".to_owned() }
    }

    #[test]
    fn a_user_is_looked_up_once_in_a_while_and_a_refusal_each_time() {
        let (users, start) = (AdmittedUsers::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let unknown = || Err(RefusedUser::Unknown { user: "alice".to_owned() });
        assert!(users.admit_at(start, "alice", unknown).is_err());
        assert_eq!(users.admit_at(start, "alice", || Ok(user("alice", 1_001))).unwrap().uid, 1_001);
        let again = users.admit_at(at(29), "alice", || panic!("it is known")).unwrap();
        assert_eq!(again, user("alice", 1_001));
        assert_eq!(users.admit_at(at(29), "bob", || Ok(user("bob", 1_002))).unwrap().uid, 1_002);
        assert!(users.admit_at(at(30), "alice", unknown).is_err(), "an account that is gone is noticed");
        assert_eq!(users.admit_at(at(30), "bob", || panic!("it is known")).unwrap().uid, 1_002);
    }
}
