//! Settings of containers on this worker, read once, at start.

use std::fmt;
use std::time::Duration;

use crate::api::DeclaredBag;
use crate::config::{ConfigError, Configuration, keys};
use crate::model::PerKind;

use super::bag::{MachineRoom, declared};
use super::control_groups::{ControlGroups, MOUNT, NoGroups, memberships_of_process};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupChoice {
    /// Where they are delegated to the worker.
    Auto,
    /// The worker does not start without.
    Require,
    Off,
}

#[derive(Clone, Debug)]
pub(crate) struct WorkerContainerSettings {
    pub(crate) declared: DeclaredBag,
    pub(crate) log_limit_bytes: u64,
    /// Longest time between TERM and KILL when the worker stops.
    pub(crate) max_stop_grace: Duration,
    /// Most bytes of files that containers share, on each disk; 0: they share none.
    pub(crate) shared_file_bytes: u64,
    groups: GroupChoice,
}

#[derive(Clone, Debug)]
pub(crate) struct ContainerLimits {
    /// Control groups, where the worker has them.
    pub(super) groups: Option<ControlGroups>,
    why_none: String,
}

impl WorkerContainerSettings {
    /// Checks every value; none where containers are switched off.
    pub(crate) fn read(configuration: &Configuration, slots: PerKind<u32>) -> Result<Option<Self>, ConfigError> {
        if !configuration.flag(&keys::TRACKER_CONTAINERS)? {
            return Ok(None);
        }
        let groups = match configuration.required(&keys::TRACKER_CGROUP)?.value.trim() {
            "require" => GroupChoice::Require,
            "off" => GroupChoice::Off,
            _ => GroupChoice::Auto,
        };
        let log_limit_kb: u64 = configuration.number(&keys::CONTAINER_LOG_LIMIT)?;
        let shared_file_bytes = configuration.number(&keys::LOCAL_CACHE_SIZE)?;
        let declared = declared(configuration, slots, MachineRoom::of_process())?;
        let max_stop_grace = Duration::from_millis(configuration.number(&keys::CONTAINER_MAX_KILL_GRACE)?);
        let log_limit_bytes = log_limit_kb << 10;
        Ok(Some(Self { declared, log_limit_bytes, max_stop_grace, shared_file_bytes, groups }))
    }

    /// What the worker offers, if this machine has not so much.
    pub(crate) fn memory_warning(&self, machine: MachineRoom) -> Option<String> {
        let (offered_mb, memory_mb) = (self.declared.capability.memory_mb, machine.memory_mb);
        (offered_mb > memory_mb).then(|| {
            format!(
                "offers {offered_mb} MB for slots and containers, more than the {memory_mb} MB of this machine, which ends \
                 processes when they use it; set {} or fewer slots",
                keys::TRACKER_MEMORY.name
            )
        })
    }

    /// Why control groups that are required cannot be had; changes nothing.
    pub(crate) fn lack_of_groups(&self) -> Option<NoGroups> {
        let found = || ControlGroups::find(MOUNT.as_ref(), &memberships_of_process());
        if self.groups == GroupChoice::Require { found().err() } else { None }
    }

    /// Takes over the control group of this process, if there is one for it. Errors: [`NoGroups`], where groups are required.
    pub(super) fn limits(&self) -> Result<ContainerLimits, NoGroups> {
        if self.groups == GroupChoice::Off {
            let why_none = format!("{} is off", keys::TRACKER_CGROUP.name);
            return Ok(ContainerLimits { groups: None, why_none });
        }
        match ControlGroups::take_over(MOUNT.as_ref(), &memberships_of_process()) {
            Ok(groups) => Ok(ContainerLimits { groups: Some(groups), why_none: String::new() }),
            Err(why) if self.groups == GroupChoice::Require => Err(why),
            Err(why) => Ok(ContainerLimits { groups: None, why_none: why.to_string() }),
        }
    }
}

impl fmt::Display for ContainerLimits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.groups {
            Some(_) => out.write_str("control groups keep each to its memory, processes and share of the cores"),
            None => {
                let why = &self.why_none;
                write!(out, "their memory is looked at from time to time, and cores are not limited: {why}")
            }
        }
    }
}
