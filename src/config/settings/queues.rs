//! Queues and their access lists (1.2.1 `QueueManager`).

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::keys;
use crate::model::QueueConfig;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Queues {
    /// In the order of `mapred.queue.names`, each name once.
    pub(crate) queues: Vec<QueueConfig>,
    pub(crate) acls_enabled: bool,
    /// Users and groups that may do everything; a blank: only the user of the daemon.
    pub(crate) administrators_acl: String,
    /// Time for which the groups of a user are cached, s.
    pub(crate) groups_cache_s: u64,
}

impl Queues {
    pub(super) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let mut queues: Vec<QueueConfig> = Vec::new();
        for name in configuration.list(&keys::QUEUE_NAMES)? {
            if queues.iter().all(|queue| queue.name != name) {
                queues.push(queue(configuration, name)?);
            }
        }
        Ok(Queues {
            queues,
            acls_enabled: configuration.flag(&keys::ACLS_ENABLED)?,
            administrators_acl: configuration.text(&keys::ADMINISTRATORS)?.unwrap_or_else(|| " ".to_owned()),
            groups_cache_s: configuration.number(&keys::GROUPS_CACHE)?,
        })
    }

    /// The queues of a configuration in which something else about them is wrong.
    pub(super) fn of_names(configuration: &Configuration) -> Result<Self, ConfigError> {
        let mut names = Configuration::default();
        let setting = configuration.setting(&keys::QUEUE_NAMES)?;
        setting
            .iter()
            .try_for_each(|setting| names.add_override(&format!("{}={}", keys::QUEUE_NAMES.name, setting.value)))?;
        Self::from_configuration(&names)
    }
}

fn queue(configuration: &Configuration, name: String) -> Result<QueueConfig, ConfigError> {
    let acl =
        |key| Ok(configuration.queue_setting(key, &name)?.map_or_else(|| "*".to_owned(), |setting| setting.value));
    let (submit_acl, administer_acl) = (acl(&keys::QUEUE_ACL_SUBMIT)?, acl(&keys::QUEUE_ACL_ADMINISTER)?);
    let running = match configuration.queue_setting(&keys::QUEUE_STATE, &name)? {
        None => true,
        Some(setting) => match setting.value.trim() {
            "RUNNING" => true,
            "STOPPED" => false,
            _ => return Err(setting.bad_value(keys::QUEUE_STATE.kind.to_string())),
        },
    };
    Ok(QueueConfig { name, running, submit_acl, administer_acl })
}
