//! One job's configuration: about thirty typed values of its job.xml. The rest of the file is not kept.

use thiserror::Error;

use crate::model::{Credits, EndNotification, OrderTerms, PartsPerMillion, Priority};
use crate::scheduler::constraint::{DeadlineSpec, Due, KeySpread, StatedCost};
use crate::wire::limits::WORKFLOW_BYTES;

use super::configuration::{Configuration, Setting};
use super::error::{ConfigError, excerpt};
use super::keys;
use super::keys::Key;
use super::xml::XmlError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskConf {
    pub(crate) tasks: u32,
    /// Failed attempts after which a task fails, at least 1.
    pub(crate) max_attempts: u32,
    /// Share that may fail without failing the job, 0..=100.
    pub(crate) max_failures_percent: u8,
    pub(crate) is_speculative: bool,
    pub(crate) memory_mb: Option<u64>,
    /// Maximum number of records (for reduces, groups) skipped around a bad one; `None`: never skip.
    pub(crate) max_skipped: Option<u64>,
    /// Maximum number that the Fair scheduler runs at a time.
    pub(crate) max_running: Option<u32>,
    /// The class that maps or reduces.
    pub(crate) code: Option<String>,
}

/// Place in a workflow, for the history. Empty texts when there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Workflow {
    /// `mapreduce.workflow.id`.
    pub(crate) id: String,
    /// `mapreduce.workflow.name`.
    pub(crate) name: String,
    /// `mapreduce.workflow.node.name`.
    pub(crate) node: String,
    /// `mapreduce.workflow.adjacency.<node>`: node and the nodes after it, by node.
    pub(crate) adjacency: Vec<(String, String)>,
    /// `mapreduce.workflow.tags`.
    pub(crate) tags: String,
}

/// Timestamp and signature of a signed submission, unverified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SignatureTexts {
    /// `mapred.job.timestamp`.
    pub(crate) timestamp: Option<String>,
    /// `mapred.job.signature`, URL-encoded.
    pub(crate) signature: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobConf {
    /// Shown in lists; may be empty.
    pub(crate) name: String,
    /// The submitter the file names; stock clients leave it out.
    pub(crate) user_name: Option<String>,
    pub(crate) queue: String,
    pub(crate) priority: Priority,
    pub(crate) map: TaskConf,
    pub(crate) reduce: TaskConf,
    /// Share of maps that must have ended before reduces start.
    pub(crate) reduce_slowstart: PartsPerMillion,
    /// Failed attempts on one host after which the job blacklists it.
    pub(crate) max_tracker_failures: u32,
    /// Failed attempts after which bad records are skipped, if skipping is on.
    pub(crate) skip_start_attempts: u32,
    /// Maximum expected input of one reduce, bytes.
    pub(crate) reduce_input_limit_bytes: Option<u64>,
    /// Factor on the time that a map may wait for a slot near its data.
    pub(crate) locality_wait_factor: PartsPerMillion,
    /// Directory of the user's copy of the history; `none`: no copy, `None`: the output directory.
    pub(crate) history_user_location: Option<String>,
    /// Directory below which its relative paths lie.
    pub(crate) working_dir: Option<String>,
    /// Users and groups, besides owner and administrators, that may read details.
    pub(crate) acl_view: String,
    /// Users and groups, besides owner and administrators, that may kill and reorder it.
    pub(crate) acl_modify: String,
    /// Whether it continues after a restart.
    pub(crate) restart_recover: bool,
    /// Whether the staging directory is kept when the job has ended.
    pub(crate) keep_staging: bool,
    pub(crate) cancel_delegation_tokens: bool,
    /// The host that submitted it, as its client says.
    pub(crate) submit_host: Option<String>,
    /// The address of that host.
    pub(crate) submit_address: Option<String>,
    pub(crate) deadline: Option<DeadlineSpec>,
    /// What the order for it may bid.
    pub(crate) order: Option<OrderTerms>,
    pub(crate) end_notification: Option<EndNotification>,
    pub(crate) workflow: Workflow,
    pub(crate) signature: SignatureTexts,
}

/// Prefix of a workflow's adjacency keys, before the node.
const ADJACENCY: &str = "mapreduce.workflow.adjacency.";

impl JobConf {
    /// Parses a job.xml of at most `limit_bytes` over the cluster's values; `${user.name}` in it is the submitter.
    /// Errors: too long, no configuration file, a bad value, two queues.
    #[cfg(test)]
    pub(crate) fn parse(
        bytes: &[u8],
        limit_bytes: u64,
        cluster: &Configuration,
        submitter: &str,
    ) -> Result<Self, JobConfError> {
        let configuration = Self::configuration(bytes, limit_bytes, cluster, submitter)?;
        Self::check_end_notification(&configuration)?;
        Self::from_configuration(&configuration)
    }

    /// Adds a job.xml of at most `limit_bytes` to the cluster's values; `${user.name}` in it is the submitter.
    /// Errors: too long, no configuration file.
    pub(crate) fn configuration(
        bytes: &[u8],
        limit_bytes: u64,
        cluster: &Configuration,
        submitter: &str,
    ) -> Result<Configuration, JobConfError> {
        let length = bytes.len() as u64;
        if length > limit_bytes {
            return Err(JobConfError::TooLong { bytes: length, limit_bytes });
        }
        let mut configuration = cluster.with_property("user.name", submitter);
        configuration.add_job_xml("job.xml", bytes).map_err(JobConfError::NotConfiguration)?;
        Ok(configuration)
    }

    /// Refuses a URL for the end of a job that can never be called. A job that another JobTracker or an earlier version has accepted may
    /// name one all the same.
    pub(crate) fn check_end_notification(configuration: &Configuration) -> Result<(), ConfigError> {
        configuration.text(&keys::NOTIFICATION_URL).map(drop)
    }

    /// Extracts a job's typed values; whether its end can be notified is for [`Self::check_end_notification`].
    /// Errors: a bad value, two queues.
    pub(crate) fn from_configuration(configuration: &Configuration) -> Result<Self, JobConfError> {
        let text = |key: &Key| configuration.text(key);
        let text_or_empty = |key: &Key| Ok::<_, ConfigError>(configuration.text(key)?.unwrap_or_default());
        let priority = configuration.required(&keys::JOB_PRIORITY)?;
        Ok(JobConf {
            name: text_or_empty(&keys::JOB_NAME)?,
            user_name: text(&keys::USER_NAME)?,
            queue: resolve(configuration)?,
            priority: Priority::from_name(priority.value.trim())
                .ok_or_else(|| priority.bad_value(keys::JOB_PRIORITY.kind.to_string()))?,
            map: map_conf(configuration)?,
            reduce: reduce_conf(configuration)?,
            reduce_slowstart: configuration.ratio(&keys::REDUCE_SLOWSTART)?,
            max_tracker_failures: configuration.number(&keys::MAX_TRACKER_FAILURES)?,
            skip_start_attempts: configuration.number(&keys::SKIP_START_ATTEMPTS)?,
            reduce_input_limit_bytes: configuration.limit(&keys::REDUCE_INPUT_LIMIT, 1)?,
            locality_wait_factor: configuration.ratio(&keys::LOCALITY_WAIT_FACTOR)?,
            history_user_location: text(&keys::HISTORY_USER_LOCATION)?,
            working_dir: text(&keys::WORKING_DIR)?,
            acl_view: text_or_empty(&keys::JOB_ACL_VIEW)?,
            acl_modify: text_or_empty(&keys::JOB_ACL_MODIFY)?,
            restart_recover: configuration.flag(&keys::JOB_RESTART_RECOVER)?,
            keep_staging: configuration.flag(&keys::KEEP_FAILED_TASK_FILES)?
                || text(&keys::KEEP_TASK_FILES_PATTERN)?.is_some(),
            cancel_delegation_tokens: configuration.flag(&keys::CANCEL_DELEGATION_TOKENS)?,
            submit_host: text(&keys::SUBMIT_HOST)?,
            submit_address: text(&keys::SUBMIT_ADDRESS)?,
            deadline: deadline(configuration)?,
            order: order_terms(configuration)?,
            end_notification: end_notification(configuration)?,
            workflow: workflow(configuration)?,
            signature: SignatureTexts {
                timestamp: text(&keys::JOB_TIMESTAMP)?,
                signature: text(&keys::JOB_SIGNATURE)?,
            },
        })
    }
}

fn map_conf(configuration: &Configuration) -> Result<TaskConf, ConfigError> {
    Ok(TaskConf {
        tasks: configuration.number(&keys::MAP_TASKS)?,
        max_attempts: configuration.number::<u32>(&keys::MAP_MAX_ATTEMPTS)?.max(1),
        max_failures_percent: configuration.number(&keys::MAP_FAILURES_PERCENT)?,
        is_speculative: configuration.flag(&keys::MAP_SPECULATIVE)?,
        memory_mb: memory_mb(configuration, &keys::JOB_MAP_MEMORY)?,
        max_skipped: configuration.limit(&keys::SKIP_MAP_RECORDS, 1)?,
        max_running: configuration.limit(&keys::JOB_MAX_MAPS, 0)?,
        code: code(configuration, &keys::MAPPER_NEW_API, &keys::NEW_MAPPER_CLASS, &keys::MAPPER_CLASS)?,
    })
}

fn reduce_conf(configuration: &Configuration) -> Result<TaskConf, ConfigError> {
    Ok(TaskConf {
        tasks: configuration.number(&keys::REDUCE_TASKS)?,
        max_attempts: configuration.number::<u32>(&keys::REDUCE_MAX_ATTEMPTS)?.max(1),
        max_failures_percent: configuration.number(&keys::REDUCE_FAILURES_PERCENT)?,
        is_speculative: configuration.flag(&keys::REDUCE_SPECULATIVE)?,
        memory_mb: memory_mb(configuration, &keys::JOB_REDUCE_MEMORY)?,
        max_skipped: configuration.limit(&keys::SKIP_REDUCE_GROUPS, 1)?,
        max_running: configuration.limit(&keys::JOB_MAX_REDUCES, 0)?,
        code: code(configuration, &keys::REDUCER_NEW_API, &keys::NEW_REDUCER_CLASS, &keys::REDUCER_CLASS)?,
    })
}

/// The class of the interface that the job uses (1.2.1 `MapTask.run`).
fn code(configuration: &Configuration, is_new: &Key, new: &Key, old: &Key) -> Result<Option<String>, ConfigError> {
    configuration.text(if configuration.flag(is_new)? { new } else { old })
}

/// The old key, in bytes, wins if it holds a size (1.2.1 `JobConf.getMemoryForMapTask`).
fn memory_mb(configuration: &Configuration, key: &Key) -> Result<Option<u64>, ConfigError> {
    match configuration.limit::<u64>(&keys::JOB_VIRTUAL_MEMORY, 0)? {
        Some(bytes) => Ok(Some(bytes >> 20)),
        None => configuration.limit(key, 0),
    }
}

fn end_notification(configuration: &Configuration) -> Result<Option<EndNotification>, ConfigError> {
    let url = configuration.setting(&keys::NOTIFICATION_URL)?.filter(|url| !url.value.trim().is_empty());
    let Some(url) = url else { return Ok(None) };
    Ok(Some(EndNotification {
        url: url.value,
        retries: configuration.number(&keys::NOTIFICATION_RETRIES)?,
        retry_interval_ms: configuration.number(&keys::NOTIFICATION_RETRY_INTERVAL)?,
        timeout_ms: configuration.number(&keys::NOTIFICATION_TIMEOUT)?,
    }))
}

fn workflow(configuration: &Configuration) -> Result<Workflow, JobConfError> {
    let text = |key: &Key| checked_workflow(key.name, configuration.text(key)?.unwrap_or_default());
    let nodes =
        configuration.written().filter_map(|(name, value, _)| Some((name, name.strip_prefix(ADJACENCY)?, value)));
    let adjacency =
        nodes.map(|(name, node, targets)| Ok((node.to_owned(), checked_workflow(name, targets.to_owned())?)));
    Ok(Workflow {
        id: text(&keys::WORKFLOW_ID)?,
        name: text(&keys::WORKFLOW_NAME)?,
        node: text(&keys::WORKFLOW_NODE)?,
        adjacency: adjacency.collect::<Result<_, JobConfError>>()?,
        tags: text(&keys::WORKFLOW_TAGS)?,
    })
}

fn checked_workflow(key: &str, text: String) -> Result<String, JobConfError> {
    match text.len() {
        bytes if bytes > WORKFLOW_BYTES => {
            Err(JobConfError::TextTooLong { key: excerpt(key), bytes, limit_bytes: WORKFLOW_BYTES })
        }
        _ => Ok(text),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JobConfError {
    #[error("Exceeded max jobconf size: {bytes} limit: {limit_bytes} (mapred.user.jobconf.limit)")]
    TooLong { bytes: u64, limit_bytes: u64 },
    #[error("job.xml: {0}")]
    NotConfiguration(XmlError),
    #[error(transparent)]
    Value(ConfigError),
    #[error("{key} has {bytes} bytes; expected at most {limit_bytes}")]
    TextTooLong { key: String, bytes: usize, limit_bytes: usize },
    #[error("{key} and {other_key} are both set; expected one of them")]
    TwoCosts { key: String, other_key: String },
    #[error("{key} is set; expected {other_key} with it")]
    NeedsOther { key: String, other_key: String },
    #[error("{key} names queue {queue:?} but {other_key} names {other_queue:?}; expected one queue")]
    QueuesDiffer { key: String, queue: String, other_key: String, other_queue: String },
}

/// The deadline with what the job states of its costs; none of a job without one, whose costs must still be readable.
pub(super) fn deadline(configuration: &Configuration) -> Result<Option<DeadlineSpec>, JobConfError> {
    let map = cost(configuration, &keys::JOB_MAP_COST, &keys::JOB_MAP_TASK_TIME)?;
    let reduce = cost(configuration, &keys::JOB_REDUCE_COST, &keys::JOB_REDUCE_TASK_TIME)?;
    let copy_us_per_mb = us_per_mb(configuration, &keys::JOB_COPY_COST)?;
    let filter_millionths = ratio(configuration, &keys::JOB_FILTER_RATIO)?;
    let keys_go = configuration.required(&keys::JOB_KEY_SPREAD)?;
    let keys = if keys_go.value.trim() == "single" { KeySpread::Single } else { KeySpread::Uniform };
    let due = match (configuration.limit(&keys::JOB_DEADLINE_AT, 1)?, configuration.limit(&keys::JOB_DEADLINE, 1)?) {
        (Some(at_ms), _) => Due::AtMs(at_ms),
        (None, Some(after_ms)) => Due::AfterMs(after_ms),
        (None, None) => return Ok(None),
    };
    Ok(Some(DeadlineSpec { due, map, reduce, copy_us_per_mb, filter_millionths, keys }))
}

/// What the order for the deadline may bid; none of a job without one.
pub(super) fn order_terms(configuration: &Configuration) -> Result<Option<OrderTerms>, JobConfError> {
    let max_rate = amount(configuration, &keys::JOB_MAX_RATE)?;
    let max_cost = amount(configuration, &keys::JOB_MAX_COST)?;
    let needs = |key: &Key, other: &Key| JobConfError::NeedsOther {
        key: key.name.to_owned(),
        other_key: other.name.to_owned(),
    };
    match max_rate {
        None if max_cost.is_some() => Err(needs(&keys::JOB_MAX_COST, &keys::JOB_MAX_RATE)),
        None => Ok(None),
        Some(_) if deadline(configuration)?.is_none() => Err(needs(&keys::JOB_MAX_RATE, &keys::JOB_DEADLINE)),
        Some(max_rate) => Ok(Some(OrderTerms { max_rate, max_cost })),
    }
}

/// Credits of which none is owed.
fn amount(configuration: &Configuration, key: &Key) -> Result<Option<Credits>, ConfigError> {
    let Some(text) = configuration.text(key)? else { return Ok(None) };
    match Credits::parse_exact(text.trim()) {
        Ok(amount) if amount >= Credits::ZERO => Ok(Some(amount)),
        _ => Err(configuration.required(key)?.bad_value("credits from 0 to 1000000000000, with at most 12 decimals")),
    }
}

/// A cost in one of its two forms.
fn cost(configuration: &Configuration, per_mb: &Key, per_task: &Key) -> Result<Option<StatedCost>, JobConfError> {
    match (us_per_mb(configuration, per_mb)?, configuration.limit(per_task, 1)?) {
        (Some(_), Some(_)) => {
            Err(JobConfError::TwoCosts { key: per_mb.name.to_owned(), other_key: per_task.name.to_owned() })
        }
        (Some(us_per_mb), None) => Ok(Some(StatedCost::UsPerMb(us_per_mb))),
        (None, ms) => Ok(ms.map(StatedCost::TaskMs)),
    }
}

/// Milliseconds as microseconds, rounded up.
fn us_per_mb(configuration: &Configuration, key: &Key) -> Result<Option<u64>, ConfigError> {
    match ratio(configuration, key)? {
        Some(0) => Err(configuration.required(key)?.bad_value("a decimal number above 0")),
        millionths => Ok(millionths.map(|millionths| millionths.div_ceil(1_000))),
    }
}

/// A decimal in millionths.
fn ratio(configuration: &Configuration, key: &Key) -> Result<Option<u64>, ConfigError> {
    match configuration.setting(key)? {
        Some(_) => configuration.ratio(key).map(|PartsPerMillion(millionths)| Some(millionths)),
        None => Ok(None),
    }
}

pub(crate) const DEFAULT_QUEUE: &str = "default";

/// The job's queue. The cluster's value applies only if the job names none.
pub(crate) fn resolve(configuration: &Configuration) -> Result<String, JobConfError> {
    let mut named = Vec::new();
    for key in [&keys::QUEUE_NAME_DOCUMENTED, &keys::QUEUE_NAME_LATER, &keys::QUEUE_NAME] {
        let Some(mut setting) = configuration.setting(key)? else { continue };
        setting.value = setting.value.trim().to_owned();
        let is_clients_default = key.name == keys::QUEUE_NAME.name && setting.value == DEFAULT_QUEUE;
        if !setting.value.is_empty() && !is_clients_default {
            named.push((configuration.is_set_by_job(key), setting));
        }
    }
    let job_names_one = named.iter().any(|(by_job, _)| *by_job);
    let mut named = named
        .into_iter()
        .filter(|(by_job, setting)| *by_job || !job_names_one || configuration.is_final(&setting.name));
    let Some((_, first)) = named.next() else { return Ok(DEFAULT_QUEUE.to_owned()) };
    match named.find(|(_, other)| other.value != first.value) {
        Some((_, other)) => Err(queues_differ(&first, &other)),
        None => Ok(first.value),
    }
}

fn queues_differ(first: &Setting, other: &Setting) -> JobConfError {
    JobConfError::QueuesDiffer {
        key: first.name.clone(),
        queue: first.shown.clone(),
        other_key: other.name.clone(),
        other_queue: other.shown.clone(),
    }
}

impl From<ConfigError> for JobConfError {
    fn from(error: ConfigError) -> Self {
        JobConfError::Value(error)
    }
}

#[cfg(test)]
#[path = "tests/job_conf.rs"]
mod tests;

#[cfg(test)]
#[path = "tests/deadline_conf.rs"]
mod deadline_conf_tests;

#[cfg(test)]
mod job_queue_tests {
    use super::*;

    fn queue_of(cluster: &str, job: &[(&str, &str)]) -> String {
        let mut configuration = Configuration::default();
        configuration
            .add_file("mapred-site.xml", format!("<configuration>{cluster}</configuration>").as_bytes())
            .unwrap();
        let properties: String = job
            .iter()
            .map(|(name, value)| format!("<property><name>{name}</name><value>{value}</value></property>"))
            .collect();
        configuration
            .add_job_xml("job.xml", format!("<configuration>{properties}</configuration>").as_bytes())
            .unwrap();
        resolve(&configuration).unwrap_or_else(|error| error.to_string())
    }

    const DOCUMENTED: &str = "mapreduce.job.queue.name";
    const LATER: &str = "mapreduce.job.queuename";
    const HADOOP_1: &str = "mapred.job.queue.name";

    #[test]
    fn the_default_that_clients_write_yields() {
        assert_eq!(queue_of("", &[]), "default");
        assert_eq!(queue_of("", &[(HADOOP_1, "default")]), "default");
        assert_eq!(queue_of("", &[(HADOOP_1, "default"), (DOCUMENTED, "alice")]), "alice");
        assert_eq!(queue_of("", &[(HADOOP_1, "default"), (LATER, "alice")]), "alice");
        assert_eq!(queue_of("", &[(HADOOP_1, " alice ")]), "alice");
    }

    #[test]
    fn two_queues_are_refused_but_not_the_same_twice() {
        assert_eq!(queue_of("", &[(LATER, "alice"), (DOCUMENTED, "alice"), (HADOOP_1, "alice")]), "alice");
        let refusal = queue_of("", &[(HADOOP_1, "bob"), (DOCUMENTED, "alice")]);
        insta::assert_snapshot!(refusal, @r#"mapreduce.job.queue.name names queue "alice" but mapred.job.queue.name names "bob"; expected one queue"#);
        // An explicit "default" under another name counts.
        assert!(queue_of("", &[(DOCUMENTED, "default"), (HADOOP_1, "bob")]).contains("bob"));
    }

    #[test]
    fn the_clusters_queue_applies_if_the_job_names_none_or_when_final() {
        let cluster = "<property><name>mapred.job.queue.name</name><value>prod</value></property>";
        assert_eq!(queue_of(cluster, &[]), "prod");
        assert_eq!(queue_of(cluster, &[(DOCUMENTED, "alice")]), "alice");
        let cluster = "<property><name>mapred.job.queue.name</name><value>prod</value><final>true</final></property>";
        assert_eq!(queue_of(cluster, &[(HADOOP_1, "alice")]), "prod");
        assert!(queue_of(cluster, &[(DOCUMENTED, "alice")]).contains("prod"));
    }
}
