//! `capacity-scheduler.xml`: the Capacity scheduler's own file, read alone. `${name}` finds only keys of this file and system properties;
//! `-D` and the site files do not reach it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::model::Decimal;
use crate::scheduler::capacity::{CapacityConfig, CapacityConfigError, WrittenConfig, WrittenQueue};

use super::conf_folder::read_optional;
use super::configuration::{Configuration, Setting};
use super::error::{ConfigError, NO_SUCH_QUEUE, Warning};
use super::keys;
use super::keys::Key;
use super::unread_keys::unread_key;

pub(crate) const CAPACITY_FILE: &str = "capacity-scheduler.xml";

/// Reads the file of a conf folder for the queues of `mapred.queue.names`, in their order. Without a folder or a file
/// every value is missing, so the first queue lacks its capacity.
/// Errors: the first [`ConfigError`] of the file: unreadable, malformed, a value of the wrong kind, a value or the whole refused by the scheduler.
pub(crate) fn read_capacity_file(
    folder: Option<&Path>,
    properties: &BTreeMap<String, String>,
    queues: &[String],
) -> Result<(CapacityConfig, Vec<Warning>), ConfigError> {
    let (file, bytes) = read(folder)?;
    parse_capacity_file(&file, bytes.as_deref(), properties, queues)
}

/// The warnings of [`read_capacity_file`], whatever its values are.
pub(crate) fn warnings_of_capacity_file(
    folder: Option<&Path>,
    properties: &BTreeMap<String, String>,
    queues: &[String],
) -> Vec<Warning> {
    let found = read(folder).and_then(|(file, bytes)| {
        let configuration = load(&file, bytes.as_deref(), properties)?;
        Ok(FileValues { file: &file, is_there: bytes.is_some(), configuration: &configuration }.warnings(queues))
    });
    found.unwrap_or_default()
}

/// Key, value and place of each key that the file sets and that is one of the Capacity scheduler's.
pub(crate) fn keys_set_in_capacity_file(
    folder: Option<&Path>,
    properties: &BTreeMap<String, String>,
) -> Result<Vec<(String, String, String)>, ConfigError> {
    let (file, bytes) = read(folder)?;
    let configuration = load(&file, bytes.as_deref(), properties)?;
    let set = configuration.written().filter(|(name, ..)| keys::CAPACITY.iter().any(|key| key.is_spelled(name)));
    Ok(set.map(|(name, value, origin)| (name.to_owned(), value.to_owned(), origin.to_string())).collect())
}

/// The path of the file in a conf folder, as it is shown, and its bytes, if it is there.
fn read(folder: Option<&Path>) -> Result<(String, Option<Vec<u8>>), ConfigError> {
    let Some(folder) = folder else { return Ok((CAPACITY_FILE.to_owned(), None)) };
    let path = folder.join(CAPACITY_FILE);
    let file = path.display().to_string();
    let bytes = read_optional(&path, &file)?;
    Ok((file, bytes))
}

fn load(file: &str, bytes: Option<&[u8]>, properties: &BTreeMap<String, String>) -> Result<Configuration, ConfigError> {
    let mut configuration = Configuration::new(properties.clone());
    if let Some(bytes) = bytes {
        configuration.add_file(file, bytes)?;
    }
    Ok(configuration)
}

fn parse_capacity_file(
    file: &str,
    bytes: Option<&[u8]>,
    properties: &BTreeMap<String, String>,
    queues: &[String],
) -> Result<(CapacityConfig, Vec<Warning>), ConfigError> {
    let configuration = load(file, bytes, properties)?;
    let values = FileValues { file, is_there: bytes.is_some(), configuration: &configuration };
    Ok((values.config(queues)?, values.warnings(queues)))
}

struct FileValues<'a> {
    file: &'a str,
    is_there: bool,
    configuration: &'a Configuration,
}

impl FileValues<'_> {
    fn config(&self, queues: &[String]) -> Result<CapacityConfig, ConfigError> {
        let configuration = self.configuration;
        let written = WrittenConfig {
            maximum_system_jobs: configuration.number(&keys::CAPACITY_SYSTEM_JOBS)?,
            init_poll_interval_ms: configuration.number(&keys::CAPACITY_POLL_INTERVAL)?,
            init_worker_threads: configuration.number(&keys::CAPACITY_WORKER_THREADS)?,
            maximum_tasks_per_heartbeat: configuration.number(&keys::CAPACITY_TASKS_PER_HEARTBEAT)?,
            maximum_tasks_after_off_switch: configuration.number(&keys::CAPACITY_TASKS_AFTER_OFF_SWITCH)?,
            queues: queues.iter().map(|queue| self.queue(queue)).collect::<Result<_, _>>()?,
        };
        CapacityConfig::new(&written).map_err(|error| self.refusal(error, queues))
    }

    fn queue(&self, name: &str) -> Result<WrittenQueue, ConfigError> {
        let number = |key, default| self.parsed(key, default, name, |value| keys::parse_number(value)?.try_into().ok());
        let decimal = |key, default| self.parsed(key, default, name, Decimal::parse);
        let capacity = match self.of_queue(&keys::QUEUE_CAPACITY, name)? {
            Some(setting) => Some(setting),
            None => self.of_queue(&keys::QUEUE_GUARANTEED_CAPACITY, name)?,
        };
        Ok(WrittenQueue {
            name: name.to_owned(),
            capacity: capacity.map(|setting| parse(&setting, &keys::QUEUE_CAPACITY, Decimal::parse)).transpose()?,
            maximum_capacity: decimal(&keys::QUEUE_MAXIMUM_CAPACITY, None)?,
            minimum_user_limit_percent: number(&keys::QUEUE_USER_LIMIT, Some(&keys::CAPACITY_DEFAULT_USER_LIMIT))?,
            user_limit_factor: decimal(&keys::QUEUE_USER_FACTOR, Some(&keys::CAPACITY_DEFAULT_USER_FACTOR))?,
            supports_priority: self.parsed(
                &keys::QUEUE_PRIORITY,
                Some(&keys::CAPACITY_DEFAULT_PRIORITY),
                name,
                keys::parse_flag,
            )?,
            maximum_active_tasks: number(&keys::QUEUE_TASKS, Some(&keys::CAPACITY_DEFAULT_QUEUE_TASKS))?,
            maximum_active_tasks_per_user: number(&keys::QUEUE_USER_TASKS, Some(&keys::CAPACITY_DEFAULT_USER_TASKS))?,
            init_accept_jobs_factor: number(&keys::QUEUE_ACCEPT_FACTOR, Some(&keys::CAPACITY_DEFAULT_ACCEPT_FACTOR))?,
        })
    }

    /// A queue's value, else the system's default, else that of the key.
    fn parsed<T>(
        &self,
        key: &'static Key,
        default: Option<&'static Key>,
        queue: &str,
        parse_value: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ConfigError> {
        match (self.of_queue(key, queue)?, default) {
            (Some(setting), _) => parse(&setting, key, parse_value),
            (None, Some(default)) => parse(&self.configuration.required(default)?, default, parse_value),
            (None, None) => Err(ConfigError::NotSet { key: key.name, expected: key.kind.to_string() }),
        }
    }

    /// A queue's value; none if it is not set or blank.
    fn of_queue(&self, key: &Key, queue: &str) -> Result<Option<Setting>, ConfigError> {
        Ok(self.configuration.queue_setting(key, queue)?.filter(|setting| !setting.value.trim().is_empty()))
    }
}

fn parse<T>(setting: &Setting, key: &Key, parse_value: impl Fn(&str) -> Option<T>) -> Result<T, ConfigError> {
    parse_value(&setting.value)
        .filter(|_| key.kind.accepts(&setting.value))
        .ok_or_else(|| setting.bad_value(key.kind.to_string()))
}

/// What decides a refused value, of each row the first key that is set, and what was expected.
type Culprit = (&'static [&'static [&'static Key]], &'static str);

const POSITIVE: &str = "a number above 0";
const SHARE: &str = "percent from 0 to 100";
const CAPACITY: &[&Key] = &[&keys::QUEUE_CAPACITY, &keys::QUEUE_GUARANTEED_CAPACITY];

/// Most queues whose capacities a wrong sum names.
const NAMED_CAPACITIES: usize = 8;

fn culprit(error: &CapacityConfigError) -> Culprit {
    use CapacityConfigError as Error;
    match error {
        Error::NoCapacity { .. } | Error::Capacity { .. } => (&[CAPACITY], SHARE),
        Error::MaximumCapacity { .. } => (&[&[&keys::QUEUE_MAXIMUM_CAPACITY]], "percent up to 100"),
        Error::MaximumBelowCapacity { .. } => {
            (&[&[&keys::QUEUE_MAXIMUM_CAPACITY], CAPACITY], "at least the queue's capacity")
        }
        Error::UserLimit { .. } => {
            (&[&[&keys::QUEUE_USER_LIMIT, &keys::CAPACITY_DEFAULT_USER_LIMIT]], "percent from 1 to 100")
        }
        Error::UserLimitFactor { .. } => {
            (&[&[&keys::QUEUE_USER_FACTOR, &keys::CAPACITY_DEFAULT_USER_FACTOR]], POSITIVE)
        }
        Error::InitAcceptJobsFactor { .. } => {
            (&[&[&keys::QUEUE_ACCEPT_FACTOR, &keys::CAPACITY_DEFAULT_ACCEPT_FACTOR]], POSITIVE)
        }
        Error::ContradictingLimits { .. } => (
            &[
                &[&keys::QUEUE_USER_TASKS, &keys::CAPACITY_DEFAULT_USER_TASKS],
                &[&keys::QUEUE_TASKS, &keys::CAPACITY_DEFAULT_QUEUE_TASKS],
            ],
            "at most maximum-initialized-active-tasks of the queue",
        ),
        Error::MaximumSystemJobs { .. } => (&[&[&keys::CAPACITY_SYSTEM_JOBS]], POSITIVE),
        Error::InitPollInterval { .. } => (&[&[&keys::CAPACITY_POLL_INTERVAL]], POSITIVE),
        Error::InitWorkerThreads { .. } => (&[&[&keys::CAPACITY_WORKER_THREADS]], POSITIVE),
        Error::NoQueue | Error::NamedTwice { .. } | Error::QueueRemoved { .. } => {
            (&[], "queues in mapred.queue.names, each once")
        }
        Error::SumOfCapacities { .. } => (&[], "the capacities of all queues in mapred.queue.names to add to 100"),
    }
}

impl FileValues<'_> {
    /// The scheduler's error with the places of the values.
    fn refusal(&self, error: CapacityConfigError, queues: &[String]) -> ConfigError {
        let (deciding, expected) = culprit(&error);
        let queue = error.queue().or_else(|| queues.first().map(String::as_str)).unwrap_or_default();
        let places: Vec<String> = match error {
            CapacityConfigError::SumOfCapacities { .. } => self.places_of_capacities(queues),
            _ if deciding.is_empty() => vec![self.file.to_owned()],
            CapacityConfigError::NoCapacity { .. } => {
                vec![format!("{}{}", self.place(CAPACITY, queue), self.misnamed(CAPACITY, queues))]
            }
            _ => deciding.iter().map(|keys| self.place(keys, queue)).collect(),
        };
        ConfigError::CapacityScheduler { error, place: places.join(", "), expected }
    }

    fn places_of_capacities(&self, queues: &[String]) -> Vec<String> {
        let named = queues.iter().take(NAMED_CAPACITIES).map(|queue| self.place(CAPACITY, queue));
        let more = queues.len().checked_sub(NAMED_CAPACITIES).filter(|more| *more > 0);
        named.chain(more.map(|more| format!("and {more} more"))).collect()
    }

    /// File, line, key and value of the first key that is set.
    fn place(&self, keys: &[&Key], queue: &str) -> String {
        let mut settings = keys.iter().filter_map(|key| self.configuration.queue_setting(key, queue).ok().flatten());
        match (settings.next(), keys.first()) {
            (Some(setting), _) => format!("{}: {} = {:?}", setting.origin, setting.name, setting.shown),
            (None, Some(key)) if self.is_there => format!("{}: {} is not set", self.file, key.for_queue(queue)),
            (None, Some(key)) => format!("{}: no such file, which would set {}", self.file, key.for_queue(queue)),
            (None, None) => self.file.to_owned(),
        }
    }

    /// Where a key that is not set is set for queues that are none, whose names may be misspelt.
    fn misnamed(&self, keys: &[&Key], queues: &[String]) -> String {
        let is_none = |name: &str| {
            keys.iter().filter_map(|key| key.queue_in(name)).any(|queue| !queues.iter().any(|listed| listed == queue))
        };
        let mut misnamed = self.configuration.written().filter(|(name, ..)| is_none(name));
        match misnamed.next() {
            Some((name, _, origin)) => format!(", but {origin}: {name} is, and is no queue of mapred.queue.names"),
            None => String::new(),
        }
    }
}

impl FileValues<'_> {
    fn warnings(&self, queues: &[String]) -> Vec<Warning> {
        let mut found = self.configuration.warnings();
        for (name, _, origin) in self.configuration.written() {
            let ignored = |remark: String| Warning::Ignored { origin: origin.clone(), remark };
            if let Some((_, reason)) =
                keys::CAPACITY_OBSOLETE.iter().find(|(key, _)| keys::unused::is_of_queue(key, name))
            {
                found.push(ignored(format!("{name} {reason}")));
                continue;
            }
            let Some(key) = keys::CAPACITY.iter().find(|key| key.is_spelled(name)) else {
                // The others are named already, with the nearest key.
                let is_unnamed = unread_key(name).is_none();
                let unread = || Warning::NothingReads { key: name.to_owned(), origin: origin.clone(), meant: None };
                found.extend(is_unnamed.then(unread));
                continue;
            };
            let is_of_queue = |queue: &&String| key.for_queue(queue) == name;
            match queues.iter().find(is_of_queue) {
                Some(queue) if *key == keys::QUEUE_GUARANTEED_CAPACITY => {
                    found.extend(self.guaranteed_capacity(name, queue));
                }
                None => found.push(ignored(format!("{name}: {NO_SUCH_QUEUE}"))),
                Some(_) => {}
            }
        }
        found
    }

    fn guaranteed_capacity(&self, name: &str, queue: &str) -> Option<Warning> {
        let setting = self.configuration.named(name).ok().flatten()?;
        let capacity = keys::QUEUE_CAPACITY.for_queue(queue);
        let remark = match self.of_queue(&keys::QUEUE_CAPACITY, queue).ok().flatten() {
            Some(_) => format!("is ignored beside {capacity}"),
            None => format!("is a key of Hadoop 0.19; use {capacity}"),
        };
        Some(Warning::Contradiction { key: setting.name, value: setting.value, origin: setting.origin, remark })
    }
}

#[cfg(test)]
#[path = "tests/capacity_file.rs"]
mod tests;
