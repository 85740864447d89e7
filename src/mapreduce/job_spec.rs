//! The typed submission of a job, and its pool under the Fair scheduler.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{EndNotification, OrderTerms, PerKind, Priority};
use crate::scheduler::constraint::DeadlineSpec;
use crate::scheduler::fair::pool_name::pool_of_job;
use crate::wire::limits::{JOB_NAME_BYTES, shorten};

/// A job as its submitter described it. Stored whole, so that a restart needs no other file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct JobSpec {
    /// Owner: the user of the submitting connection.
    pub user: String,
    /// Qualified URI of the staging directory of the job.
    pub submit_dir: String,
    /// Qualified URI of the submitted job.xml.
    pub job_file: String,
    /// Qualified URI of the submitted job.split.
    pub split_file: String,
    /// Its output folder as submitted: `mapred.output.dir`. None: it names none, or was accepted before this was recorded.
    #[serde(default)]
    pub output: Option<String>,
    /// `mapred.job.name`.
    pub name: String,
    /// The resolved queue.
    pub queue: String,
    /// `mapred.job.priority`.
    pub priority: Priority,
    /// `mapred.map.tasks`.
    pub maps: u32,
    /// `mapred.reduce.tasks`.
    pub reduces: u32,
    /// FAILED attempts that fail a map: `mapred.map.max.attempts`.
    pub map_max_attempts: u32,
    /// FAILED attempts that fail a reduce: `mapred.reduce.max.attempts`.
    pub reduce_max_attempts: u32,
    /// Failed maps the job can live with, percent: `mapred.max.map.failures.percent`.
    pub max_map_failures_percent: u32,
    /// Failed reduces the job can live with, percent: `mapred.max.reduce.failures.percent`.
    pub max_reduce_failures_percent: u32,
    /// Failures on one host after which the job avoids it: `mapred.max.tracker.failures`.
    pub max_tracker_failures: u32,
    /// Most input of one reduce, bytes, if limited: `mapreduce.reduce.input.limit`.
    pub reduce_input_limit_bytes: Option<u64>,
    /// Memory one map asks for, MB: `mapred.job.map.memory.mb`.
    pub map_memory_mb: Option<u64>,
    /// Memory one reduce asks for, MB: `mapred.job.reduce.memory.mb`.
    pub reduce_memory_mb: Option<u64>,
    /// Share of maps that must be done before reduces start, millionths: `mapred.reduce.slowstart.completed.maps`.
    pub slowstart_millionths: u32,
    /// Part of the trackers that must pass it over before it gets a map far from its input, millionths; 1: by where its
    /// input is. `mapreduce.job.locality.wait.factor`.
    #[serde(default = "default_locality_wait_millionths")]
    pub locality_wait_millionths: u64,
    /// Whether tasks that are far behind get a second attempt: `mapred.map.tasks.speculative.execution`,
    /// `mapred.reduce.tasks.speculative.execution`.
    pub speculative: PerKind<bool>,
    /// Most records skipped around a bad one, 0 = none are: `mapred.skip.map.max.skip.records`, `mapred.skip.reduce.max.skip.groups`.
    pub max_skipped: PerKind<u64>,
    /// FAILED attempts of a task after which it runs in skipping mode: `mapred.skip.attempts.to.start.skipping`.
    pub skip_start_attempts: u32,
    /// Whether the staging directory stays after the end: `keep.failed.task.files` or `keep.task.files.pattern`.
    pub keep_staging: bool,
    /// `mapreduce.job.acl-view-job`, if set.
    pub view_acl: Option<String>,
    /// `mapreduce.job.acl-modify-job`, if set.
    pub modify_acl: Option<String>,
    /// Whether a restart may resume it: `mapreduce.job.restart.recover`.
    pub recover: bool,
    /// Why only stock TaskTrackers can run it, if so.
    pub only_stock: Option<String>,
    /// Where to announce its end: `job.end.notification.url`.
    pub end_notification: Option<EndNotification>,
    /// What may name its pool.
    #[serde(default)]
    pub pool_properties: PoolProperties,
    /// Most maps and reduces that the Fair scheduler runs of it at a time: `mapred.fairscheduler.job.max.maps`,
    /// `mapred.fairscheduler.job.max.reduces`.
    #[serde(default)]
    pub max_running: PerKind<Option<u32>>,
    /// Its deadline, and what it states of its costs: `mapred.job.deadline.*`.
    #[serde(default)]
    pub deadline: Option<DeadlineSpec>,
    /// What the order for its deadline may bid: `mapred.job.deadline.max.rate`, `mapred.job.deadline.max.cost`.
    #[serde(default)]
    pub order: Option<OrderTerms>,
    /// The classes that map and reduce, if it names any: `mapred.mapper.class`, `mapred.reducer.class`, or those of the new interface.
    #[serde(default)]
    pub code: PerKind<Option<String>>,
    /// Whether it was accepted while a market ruled, with a signature of its user. None: it was accepted before this was recorded.
    #[serde(default)]
    pub is_signed: Option<bool>,
    /// Whether the JobTracker's delegation tokens in its credentials are cancelled at its end:
    /// `mapreduce.job.complete.cancel.delegation.tokens`.
    #[serde(default = "default_cancels_tokens")]
    pub cancels_tokens: bool,
    /// The host that submitted it, as its client says: `mapreduce.job.submithost`. None: it was accepted before this was recorded.
    #[serde(default)]
    pub submit_host: Option<String>,
    /// The address of that host: `mapreduce.job.submithostaddress`.
    #[serde(default)]
    pub submit_address: Option<String>,
}

/// Of jobs that were stored without it, too.
fn default_cancels_tokens() -> bool {
    true
}

/// Of jobs that were stored without it, too.
fn default_locality_wait_millionths() -> u64 {
    1_000_000
}

/// Longest `only_stock`, class and name of a host, bytes: they repeat values of job.xml.
const MAX_REASON_BYTES: usize = 1 << 10;

impl JobSpec {
    /// Cuts texts for people, which Hadoop accepts at any length.
    pub(crate) fn cut_texts(spec: &mut Arc<Self>) {
        let optional = [&spec.only_stock, &spec.code.map, &spec.code.reduce, &spec.submit_host, &spec.submit_address];
        let is_long = |text: &String| text.len() > MAX_REASON_BYTES;
        if spec.name.len() > JOB_NAME_BYTES || optional.into_iter().flatten().any(is_long) {
            let spec = Arc::make_mut(spec);
            shorten(&mut spec.name, JOB_NAME_BYTES);
            let code = [&mut spec.code.map, &mut spec.code.reduce].into_iter().flatten();
            code.for_each(|class| shorten(class, MAX_REASON_BYTES));
            let others = [&mut spec.only_stock, &mut spec.submit_host, &mut spec.submit_address];
            others.into_iter().flatten().for_each(|text| shorten(text, MAX_REASON_BYTES));
        }
    }

    /// The queue of the market that pays for it while the market rules: that of its user, if it was signed. A market's
    /// queue accepts jobs of its own user alone, so an older job was signed where the names are equal.
    pub(crate) fn payer(&self) -> Option<&str> {
        self.is_signed.unwrap_or(self.queue == self.user).then_some(&self.user)
    }

    pub(crate) fn bytes(&self) -> usize {
        let optional = [&self.view_acl, &self.modify_acl, &self.only_stock, &self.code.map, &self.code.reduce];
        let optional = optional.into_iter().chain([&self.submit_host, &self.submit_address]).flatten();
        let url = self.end_notification.iter().map(|notification| &notification.url);
        let own = [&self.user, &self.submit_dir, &self.job_file, &self.split_file, &self.name, &self.queue];
        let texts = own.into_iter().chain(optional).chain(url);
        size_of::<Self>() + texts.map(String::len).sum::<usize>() + self.pool_properties.bytes()
    }

    /// A job that configures nothing: Hadoop's defaults. For simulations, tests and benchmarks.
    pub fn with_defaults(user: &str, queue: &str, maps: u32, reduces: u32) -> Self {
        Self {
            user: user.into(),
            submit_dir: "file:/staging/job".into(),
            job_file: "file:/staging/job/job.xml".into(),
            split_file: "file:/staging/job/job.split".into(),
            output: None,
            name: "job".into(),
            queue: queue.into(),
            priority: Priority::Normal,
            maps,
            reduces,
            map_max_attempts: 4,
            reduce_max_attempts: 4,
            max_map_failures_percent: 0,
            max_reduce_failures_percent: 0,
            max_tracker_failures: 4,
            reduce_input_limit_bytes: None,
            map_memory_mb: None,
            reduce_memory_mb: None,
            slowstart_millionths: 50_000,
            locality_wait_millionths: default_locality_wait_millionths(),
            speculative: PerKind::new(true, true),
            max_skipped: PerKind::new(0, 0),
            skip_start_attempts: 2,
            keep_staging: false,
            view_acl: None,
            modify_acl: None,
            recover: true,
            only_stock: None,
            end_notification: None,
            pool_properties: PoolProperties::default(),
            max_running: PerKind::default(),
            deadline: None,
            order: None,
            code: PerKind::default(),
            is_signed: None,
            cancels_tokens: default_cancels_tokens(),
            submit_host: None,
            submit_address: None,
        }
    }

    /// The pool of the job: the one it was moved to, else the one it names, else the value of `property`.
    pub(crate) fn pool<'a>(&'a self, moved_to: Option<&'a str>, property: &str) -> &'a str {
        let named = moved_to.or_else(|| self.pool_property(POOL_PROPERTY));
        pool_of_job(named, self.pool_property(property))
    }

    fn pool_property(&self, property: &str) -> Option<&str> {
        match property {
            "user.name" => Some(&self.user),
            "mapred.job.queue.name" => Some(&self.queue),
            _ => self.pool_properties.0.get(property).map(String::as_str),
        }
    }
}

/// The property of a job that names its pool, whatever the scheduler is configured with.
pub const POOL_PROPERTY: &str = "mapred.fairscheduler.pool";

/// Properties that a Fair scheduler is usually configured to take the pool from, beside user and queue.
pub(crate) const USUAL_POOL_PROPERTIES: [&str; 2] = ["pool.name", "group.name"];

/// What of job.xml may name the pool under the Fair scheduler, by property (1.2.1 contrib `PoolManager.getPoolName`): another policy may take over
/// while the job runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PoolProperties(pub BTreeMap<String, String>);

impl PoolProperties {
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|(property, value)| property.len() + value.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_comes_from_a_move_the_job_itself_or_the_configured_property() {
        let mut spec = JobSpec::with_defaults("ann", "prod", 1, 0);
        let set = |spec: &mut JobSpec, property: &str, value: &str| {
            spec.pool_properties.0.insert(property.to_owned(), value.to_owned());
        };
        assert_eq!(spec.pool(None, "pool.name"), "default");
        assert_eq!((spec.pool(None, "user.name"), spec.pool(None, "mapred.job.queue.name")), ("ann", "prod"));
        set(&mut spec, "pool.name", " ads ");
        assert_eq!((spec.pool(None, "pool.name"), spec.pool(None, "user.name")), ("ads", "ann"));
        set(&mut spec, POOL_PROPERTY, "own");
        assert_eq!((spec.pool(None, "pool.name"), spec.pool(Some("moved"), "pool.name")), ("own", "moved"));
    }
}
