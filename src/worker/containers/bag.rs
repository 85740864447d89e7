//! What the worker declares for containers and slots together: memory and cores of its machine, unless they are set by hand.

use std::fs;
use std::path::Path;

use crate::api::DeclaredBag;
use crate::config::{ConfigError, Configuration, keys};
use crate::model::{Capability, PerKind};

use super::control_groups::{MOUNT, memberships_of_process};

/// Of the machine's memory, what is declared unless set by hand, percent.
const DECLARED_PERCENT: u64 = 80;
/// A slot's memory where nothing says it, MB.
const SLOT_MEMORY_MB: u32 = 1_024;

/// Memory and cores that this process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MachineRoom {
    /// Memory of the machine, or the limit of this process where that is less, MB.
    pub(crate) memory_mb: u32,
    pub(crate) vcores: u32,
}

impl MachineRoom {
    pub(crate) fn of_process() -> Self {
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let limit = limit_bytes(Path::new(MOUNT), &memberships_of_process());
        let memory = machine_bytes(&meminfo).into_iter().chain(limit).min().unwrap_or(0);
        let vcores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            memory_mb: u32::try_from(memory >> 20).unwrap_or(u32::MAX),
            vcores: u32::try_from(vcores).unwrap_or(u32::MAX),
        }
    }
}

/// `MemTotal` of proc_meminfo(5).
fn machine_bytes(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

/// The least `memory.max` of the control groups that this process is in.
fn limit_bytes(mount: &Path, memberships: &str) -> Option<u64> {
    let path = memberships.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let group = mount.join(path);
    let groups = group.ancestors().take_while(|group| group.starts_with(mount));
    groups.filter_map(|group| fs::read_to_string(group.join("memory.max")).ok()?.trim().parse().ok()).min()
}

/// What a worker with these slots declares. Errors: a bad value, or one set by hand that is less than the slots take.
pub(crate) fn declared(
    configuration: &Configuration,
    slots: PerKind<u32>,
    machine: MachineRoom,
) -> Result<DeclaredBag, ConfigError> {
    let slot = slot(configuration)?;
    let of_slots = slot.times(slots.map.saturating_add(slots.reduce));
    let memory_mb = amount(configuration, &keys::TRACKER_MEMORY, of_slots.memory_mb, "MB")?;
    let vcores = amount(configuration, &keys::TRACKER_VCORES, 1, "core")?;
    let of_machine_mb = u64::from(machine.memory_mb) * DECLARED_PERCENT / 100;
    let of_machine_mb = u32::try_from(of_machine_mb).unwrap_or(u32::MAX);
    let capability = Capability {
        memory_mb: memory_mb.unwrap_or(of_machine_mb.max(of_slots.memory_mb)),
        // Slots are for tasks alone: they say nothing of CPUs.
        vcores: vcores.unwrap_or(machine.vcores),
    };
    Ok(DeclaredBag { capability, slot })
}

/// One slot's worth.
fn slot(configuration: &Configuration) -> Result<Capability, ConfigError> {
    let own = configuration.limit::<u32>(&keys::CONTAINER_SLOT_MEMORY, 1)?;
    let of_maps = configuration.limit::<u32>(&keys::MAP_SLOT_MEMORY, 1)?;
    Ok(Capability::new(own.or(of_maps).unwrap_or(SLOT_MEMORY_MB), 1))
}

/// An amount that is set by hand.
fn amount(configuration: &Configuration, key: &keys::Key, least: u32, unit: &str) -> Result<Option<u32>, ConfigError> {
    let Some(setting) = configuration.checked(key)? else { return Ok(None) };
    let amount: u32 = configuration.number(key)?;
    if amount < least {
        return Err(setting.bad_value(format!("at least the {least} {unit} that the slots of this worker take")));
    }
    Ok(Some(amount))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const MACHINE: MachineRoom = MachineRoom { memory_mb: 10_000, vcores: 8 };

    fn declared_with(values: &[&str], slots: PerKind<u32>) -> Result<DeclaredBag, String> {
        let mut configuration = Configuration::new(BTreeMap::new());
        values.iter().for_each(|value| configuration.add_override(value).unwrap());
        declared(&configuration, slots, MACHINE).map_err(|error| error.to_string())
    }

    #[test]
    fn the_machine_is_declared_with_at_least_the_memory_that_the_slots_take() {
        let bag = |memory_mb, vcores, slot_mb| DeclaredBag {
            capability: Capability::new(memory_mb, vcores),
            slot: Capability::new(slot_mb, 1),
        };
        assert_eq!(declared_with(&[], PerKind::new(2, 1)), Ok(bag(8_000, 8, 1_024)));
        assert_eq!(declared_with(&[], PerKind::new(8, 4)), Ok(bag(12_288, 8, 1_024)), "slots are no CPUs");
        let map_memory = "mapred.cluster.map.memory.mb=2048";
        assert_eq!(declared_with(&[map_memory], PerKind::new(2, 1)), Ok(bag(8_000, 8, 2_048)));
        let own = ["jobtracker.containers.slot.memory.mb=512", map_memory, "jobtracker.tasktracker.memory.mb=4000"];
        assert_eq!(declared_with(&own, PerKind::new(2, 1)), Ok(bag(4_000, 8, 512)));
    }

    #[test]
    fn less_memory_than_the_slots_take_is_refused_with_the_key() {
        let refused = |value: &str| declared_with(&[value], PerKind::new(2, 1)).unwrap_err();
        let memory = refused("jobtracker.tasktracker.memory.mb=3071");
        assert!(memory.contains("jobtracker.tasktracker.memory.mb") && memory.contains("3072 MB"), "{memory}");
        let cores = declared_with(&["jobtracker.tasktracker.vcores=2"], PerKind::new(2, 1));
        assert_eq!(cores.unwrap().capability.vcores, 2);
    }

    #[test]
    fn a_limit_of_any_group_above_counts() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir_all(scratch.path().join("a/b")).unwrap();
        assert_eq!(limit_bytes(scratch.path(), "0::/a/b\n"), None);
        fs::write(scratch.path().join("a/b/memory.max"), "max\n").unwrap();
        fs::write(scratch.path().join("a/memory.max"), "2048\n").unwrap();
        assert_eq!(limit_bytes(scratch.path(), "1:cpu:/\n0::/a/b\n"), Some(2_048));
        assert_eq!(machine_bytes("MemTotal:       16 kB\nMemFree: 1 kB\n"), Some(16_384));
    }
}
