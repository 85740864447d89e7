//! From a job's configuration to the engine's job specification.

use crate::config::{ConfigError, Configuration, JobConf, keys};
use crate::fs::FileUri;
use crate::mapreduce::{JobSpec, POOL_PROPERTY, PoolProperties, USUAL_POOL_PROPERTIES};
use crate::model::PerKind;

/// The engine's specification of a job whose files are in `directory`.
pub(super) fn job_spec(user: &str, directory: &FileUri, conf: JobConf, pool_properties: PoolProperties) -> JobSpec {
    JobSpec {
        user: user.to_owned(),
        submit_dir: directory.to_string(),
        job_file: format!("{directory}/job.xml"),
        split_file: format!("{directory}/job.split"),
        // Read beside it.
        output: None,
        name: conf.name,
        queue: conf.queue,
        priority: conf.priority,
        maps: conf.map.tasks,
        reduces: conf.reduce.tasks,
        map_max_attempts: conf.map.max_attempts,
        reduce_max_attempts: conf.reduce.max_attempts,
        max_map_failures_percent: conf.map.max_failures_percent.into(),
        max_reduce_failures_percent: conf.reduce.max_failures_percent.into(),
        max_tracker_failures: conf.max_tracker_failures,
        reduce_input_limit_bytes: conf.reduce_input_limit_bytes,
        map_memory_mb: conf.map.memory_mb,
        reduce_memory_mb: conf.reduce.memory_mb,
        slowstart_millionths: u32::try_from(conf.reduce_slowstart.0).unwrap_or(u32::MAX),
        locality_wait_millionths: conf.locality_wait_factor.0,
        speculative: PerKind::new(conf.map.is_speculative, conf.reduce.is_speculative),
        max_skipped: PerKind::new(conf.map.max_skipped.unwrap_or(0), conf.reduce.max_skipped.unwrap_or(0)),
        skip_start_attempts: conf.skip_start_attempts,
        keep_staging: conf.keep_staging,
        view_acl: named(conf.acl_view),
        modify_acl: named(conf.acl_modify),
        recover: conf.restart_recover,
        only_stock: None,
        end_notification: conf.end_notification,
        pool_properties,
        max_running: PerKind::new(conf.map.max_running, conf.reduce.max_running),
        deadline: conf.deadline,
        order: conf.order,
        code: PerKind::new(conf.map.code, conf.reduce.code),
        // The engine decides it.
        is_signed: None,
        cancels_tokens: conf.cancel_delegation_tokens,
        submit_host: conf.submit_host,
        submit_address: conf.submit_address,
    }
}

/// `None` for a blank access list, which is the default and names no user.
fn named(acl: String) -> Option<String> {
    (!acl.trim().is_empty()).then_some(acl)
}

/// Reads them; `configured`: the one that the ruling scheduler takes pools from, if any.
pub(super) fn pool_properties(
    configuration: &Configuration,
    configured: Option<&str>,
) -> Result<PoolProperties, ConfigError> {
    let named = configuration.text(&keys::JOB_POOL)?.map(|pool| (POOL_PROPERTY.to_owned(), pool));
    let mut properties = PoolProperties(named.into_iter().collect());
    for property in USUAL_POOL_PROPERTIES.into_iter().chain(configured) {
        if let Some(setting) = configuration.named(property)? {
            properties.0.insert(property.to_owned(), setting.value);
        }
    }
    Ok(properties)
}
