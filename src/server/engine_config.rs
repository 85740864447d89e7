//! From settings to the engine's configuration.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::api::PolicyName;
use crate::config::Settings;
use crate::config::settings::reread::QueuesAndScheduler;
use crate::config::settings::{
    CAPACITY_CLASS, CONSTRAINT_CLASS, DYNAMIC_CLASS, FAIR_CLASS, FIFO_CLASS, MarketSettings, SchedulerKind,
    TrackerSettings,
};
use crate::engine::{
    EngineConfig, FairConfig, FaultConfig, HeartbeatConfig, HostLists, Limits, PolicyConfig, SchedulerChoice,
};
use crate::fs::{FsError, open_named_by_conf};
use crate::market::MarketConfig;
use crate::model::{ContainerSettings, Identifier, PerKind};
use crate::scheduler::fair::options::FairOptions;
use crate::scheduler::{CacheLevels, FifoOptions};

/// Maximum size of a host list, bytes.
const MAX_HOSTS_BYTES: u64 = 16 << 20;

/// Why a host list cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// The file is missing or unreadable.
    #[error("{0} (mapred.hosts, mapred.hosts.exclude)")]
    File(#[from] FsError),
    #[error("{}: expected UTF-8 text (mapred.hosts, mapred.hosts.exclude)", .0.display())]
    NotText(PathBuf),
}

/// The engine's configuration. `used`: identifiers of earlier runs; `job_page_prefix`: URL of a job's page without the
/// id.
///
/// # Errors
/// A host list cannot be read.
pub fn engine_config(
    settings: &Settings,
    used: &BTreeSet<Identifier>,
    wall_ms: i64,
    job_page_prefix: String,
) -> Result<EngineConfig, HostsError> {
    Ok(EngineConfig {
        identifier: fresh_identifier(wall_ms, used),
        policy: policy(&settings.scheduler, settings.heartbeat.min_interval_ms),
        deadlines: settings.deadlines,
        choice: SchedulerChoice::of_configuration(settings.scheduler.class_name(), wall_ms),
        market: settings.market.as_ref().map(market_config),
        queues: settings.queues.queues.clone(),
        acls_enabled: settings.queues.acls_enabled,
        needs_signatures: settings.job_changes.are_signed,
        accepts_recorded: false,
        administrators_acl: settings.queues.administrators_acl.clone(),
        daemon_user: settings.daemon_user.clone(),
        max_tasks_per_job: settings.job_limits.max_tasks,
        limits: limits(settings),
        // The web address is the configured one, which may be on any port.
        containers: ContainerSettings {
            server: settings.http_address.to_string(),
            over_kept: settings.job_limits.finished_jobs_kept,
            ..settings.containers.clone()
        },
        heartbeat: HeartbeatConfig {
            min_interval_ms: u32::try_from(settings.heartbeat.min_interval_ms).unwrap_or(u32::MAX),
            in_second: settings.heartbeat.heartbeats_in_second,
            scaling_millionths: u32::try_from(settings.heartbeat.scaling.0).unwrap_or(u32::MAX),
        },
        tracker_expiry_ms: settings.heartbeat.expiry_interval_ms,
        cache_levels: CacheLevels::new(settings.trackers.locality_levels),
        hosts: host_lists(&settings.trackers)?,
        job_page_prefix,
        delegation: settings.delegation,
        recover: settings.restart_recover,
        hold_client_kills_ms: settings.hold_client_kills_ms,
        finished_jobs_kept: settings.job_limits.finished_jobs_kept,
        withholds_ends: true,
    })
}

fn limits(settings: &Settings) -> Limits {
    let faults = &settings.trackers.faults;
    Limits {
        faults: FaultConfig::new(faults.threshold, faults.window_min, faults.bucket_min, faults.excess_over_average.0),
        counters: settings.job_limits.counters,
        max_live_tasks: settings.job_limits.max_live_tasks,
        max_live_bytes: settings.job_limits.max_live_bytes,
        max_tracker_slots: settings.job_limits.max_tracker_slots,
        max_task_memory_mb: settings.memory.max_task_mb().map(|(map, reduce)| PerKind::new(map, reduce)),
        ..Limits::default()
    }
}

/// The policy of a scheduler with its settings.
pub(crate) fn policy(scheduler: &SchedulerKind, heartbeat_interval_ms: u64) -> PolicyConfig {
    match scheduler {
        SchedulerKind::Fifo(fifo) => PolicyConfig::Fifo(FifoOptions {
            compatible: fifo.is_compatible,
            pad_millionths: u32::try_from(fifo.capacity_pad.0).unwrap_or(u32::MAX),
        }),
        SchedulerKind::Capacity(capacity) => {
            PolicyConfig::Capacity { config: Arc::clone(&capacity.config), is_compatible: capacity.is_compatible }
        }
        SchedulerKind::Fair(fair) => {
            let options = FairOptions { heartbeat_interval_ms, ..fair.options };
            PolicyConfig::Fair(FairConfig { options, ..FairConfig::clone(fair) })
        }
        SchedulerKind::Constraint(config) => PolicyConfig::Constraint(*config),
        SchedulerKind::Dynamic(dynamic) => PolicyConfig::Dynamic {
            alloc_interval_ms: dynamic.alloc_interval_ms,
            kill_interval_ms: dynamic.kill_interval_ms,
        },
    }
}

/// The policy of a scheduler whose files were read again.
pub(crate) fn reread_policy(read: &QueuesAndScheduler) -> Option<PolicyConfig> {
    read.scheduler.as_ref().map(|scheduler| policy(scheduler, read.heartbeat_interval_ms))
}

/// The class name of the scheduler that is this policy.
pub(crate) fn scheduler_class(policy: &PolicyConfig) -> &'static str {
    match policy.name() {
        PolicyName::Fifo => FIFO_CLASS,
        PolicyName::Capacity => CAPACITY_CLASS,
        PolicyName::Fair => FAIR_CLASS,
        PolicyName::Constraint => CONSTRAINT_CLASS,
        PolicyName::Dynamic => DYNAMIC_CLASS,
    }
}

fn market_config(market: &MarketSettings) -> MarketConfig {
    MarketConfig {
        signature_window_ms: market.signature_window_ms,
        job_signature_uses: market.job_signature_uses,
        job_signature_window_ms: market.job_signature_window_ms,
    }
}

/// Reads the host lists. Blocking.
pub(crate) fn host_lists(settings: &TrackerSettings) -> Result<HostLists, HostsError> {
    Ok(HostLists {
        included: hosts(settings.hosts_file.as_deref())?,
        excluded: hosts(settings.hosts_exclude_file.as_deref())?,
    })
}

/// The names in a file, separated by whitespace (1.2.1 `HostsFileReader`).
fn hosts(path: Option<&Path>) -> Result<BTreeSet<String>, HostsError> {
    let Some(path) = path else { return Ok(BTreeSet::new()) };
    let bytes = open_named_by_conf(path)?.read_limited(MAX_HOSTS_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|_| HostsError::NotText(path.to_owned()))?;
    Ok(text.split_ascii_whitespace().map(str::to_owned).collect())
}

/// The minute of the start in local time, as in 1.2.1, or the next number that no run has used: two starts within a
/// minute must not issue the same job ids.
fn fresh_identifier(wall_ms: i64, used: &BTreeSet<Identifier>) -> Identifier {
    let minute = jiff::Timestamp::from_millisecond(wall_ms).ok().and_then(|start| {
        start.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y%m%d%H%M").to_string().parse::<u64>().ok()
    });
    let mut number = minute.unwrap_or(1);
    while used.contains(&Identifier::from_number(number)) {
        number += 1;
    }
    Identifier::from_number(number)
}

/// A number that is no minute, its last two digits 60 to 99: another JobTracker may have issued ids of this minute or
/// the next ones.
pub(crate) fn no_minute(minute: Identifier, used: &BTreeSet<Identifier>) -> Identifier {
    let hour = minute.number() / 100 * 100;
    let mut number = hour + 60 + minute.number() % 100 % 40;
    while used.contains(&Identifier::from_number(number)) {
        number += 1;
    }
    Identifier::from_number(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_the_minute_of_the_start_and_never_used_twice() {
        let first = fresh_identifier(1_795_000_000_000, &BTreeSet::new());
        assert!(first.to_string().starts_with("202611"), "{first}");
        assert_eq!(first.to_string().len(), 12);
        let next = fresh_identifier(1_795_000_000_000, &BTreeSet::from([first]));
        assert_eq!(next.number(), first.number() + 1);
    }

    #[test]
    fn after_another_jobtracker_no_minute_is_taken() {
        let number = |minute: u64, used: &[u64]| {
            let used = used.iter().map(|number| Identifier::from_number(*number)).collect();
            no_minute(Identifier::from_number(minute), &used).number()
        };
        assert_eq!(number(202_611_212_105, &[]), 202_611_212_165);
        assert_eq!(number(202_611_212_159, &[]), 202_611_212_179);
        assert_eq!(number(202_611_212_105, &[202_611_212_165]), 202_611_212_166);
    }

    #[test]
    fn hosts_are_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts");
        std::fs::write(&path, "n1 n2\n\n\tn3\r\n").unwrap();
        assert_eq!(hosts(Some(&path)).unwrap().into_iter().collect::<Vec<_>>(), ["n1", "n2", "n3"]);
        assert!(hosts(Some(&folder.path().join("none"))).unwrap_err().to_string().contains("mapred.hosts"));
    }
}
