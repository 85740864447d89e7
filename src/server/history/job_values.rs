//! What a job.xml says for the history of its job.

use crate::config::job_conf::Workflow;
use crate::config::settings::HistorySettings;
use crate::config::{Configuration, JobConf, JobConfError};
use crate::fs::FileUri;

use super::record::escaped_value;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JobValues {
    pub(super) workflow: Workflow,
    /// `hadoop.job.history.user.location`.
    pub(super) user_location: Option<String>,
    /// `mapred.working.dir`.
    pub(super) working_dir: Option<String>,
}

impl JobValues {
    /// Reads a job.xml over the cluster's values. Its length was checked when it was submitted.
    pub(super) fn read(job_xml: &[u8], cluster: &Configuration, user: &str) -> Result<Self, JobConfError> {
        let configuration = JobConf::configuration(job_xml, job_xml.len() as u64, cluster, user)?;
        let conf = JobConf::from_configuration(&configuration)?;
        Ok(Self { workflow: conf.workflow, user_location: conf.history_user_location, working_dir: conf.working_dir })
    }

    /// Pairs of a node and those after it (1.2.1 `JobInfo.getWorkflowAdjacencies`). They are escaped once more where they stand.
    pub(super) fn adjacencies(&self) -> String {
        let pair =
            |(node, after): &(String, String)| format!("\"{}\"=\"{}\" ", escaped_value(node), escaped_value(after));
        self.workflow.adjacency.iter().map(pair).collect()
    }

    /// The folder below which the user's copy lies; none: there is no copy (1.2.1 `JobInfo.getJobHistoryLogLocationForUser`). A relative
    /// one is below the job's working directory, as its tasks find it.
    pub(super) fn user_folder(&self, output: Option<&str>) -> Option<String> {
        let folder = self.user_location.as_deref().or(output)?;
        if folder == HistorySettings::NO_COPY {
            return None;
        }
        match &self.working_dir {
            Some(working_dir) if FileUri::is_relative(folder) => Some(format!("{working_dir}/{folder}")),
            _ => Some(folder.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a job that was accepted before such URLs were refused, or by another JobTracker.
    #[test]
    fn a_history_is_written_whatever_its_job_wanted_called_at_its_end() {
        let job = "<configuration><property><name>job.end.notification.url</name><value>https://h/</value></property>\
            <property><name>mapred.working.dir</name><value>/w</value></property></configuration>";
        let cluster = Configuration::new(std::collections::BTreeMap::new());
        let values = JobValues::read(job.as_bytes(), &cluster, "alice").unwrap();
        assert_eq!(values.working_dir.as_deref(), Some("/w"));
    }

    #[test]
    fn a_relative_folder_is_below_the_working_directory_of_the_job() {
        let mut values = JobValues { working_dir: Some("hdfs://n:8020/user/alice".to_owned()), ..JobValues::default() };
        let folder = |values: &JobValues, output| values.user_folder(Some(output)).unwrap();
        assert_eq!(folder(&values, "out"), "hdfs://n:8020/user/alice/out");
        assert_eq!(folder(&values, "/out"), "/out");
        assert_eq!(folder(&values, "file:/out"), "file:/out");
        assert_eq!(values.user_folder(None), None);
        values.user_location = Some("logs/a:b".to_owned());
        assert_eq!(folder(&values, "/out"), "hdfs://n:8020/user/alice/logs/a:b");
        values.working_dir = None;
        assert_eq!(folder(&values, "/out"), "logs/a:b");
        values.user_location = Some("none".to_owned());
        assert_eq!(values.user_folder(Some("out")), None);
    }
}
