//! Resolves a job's queue from three keys.
//!
//! The Dynamic Priority Scheduler's document, Hadoop 0.21 and Hadoop 1 each spell the key differently, and stock 1.2.1
//! clients write `mapred.job.queue.name = default` into every job.xml, so this one value carries no information.

use super::configuration::{Configuration, Setting};
use super::error::ConfigError;
use super::job_conf_error::JobConfError;
use super::keys;

/// The queue of a job that names none.
pub(crate) const DEFAULT_QUEUE: &str = "default";

/// The job's queue. The cluster's value applies only if the job names none.
///
/// # Errors
/// [`JobConfError::QueuesDiffer`], [`JobConfError::Value`].
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
mod tests {
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
