//! What a job.xml says for the history of its job.

use crate::config::job_conf::Workflow;
use crate::config::settings::HistorySettings;
use crate::config::{Configuration, JobConf, JobConfError};

use super::record::escaped_value;

/// Values of a job for its history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JobValues {
    /// Its place in a workflow.
    pub(super) workflow: Workflow,
    /// `hadoop.job.history.user.location`.
    pub(super) user_location: Option<String>,
}

// === impl JobValues ===

impl JobValues {
    /// Reads a job.xml over the cluster's values. Its length was checked when it was submitted.
    pub(super) fn read(job_xml: &[u8], cluster: &Configuration, user: &str) -> Result<Self, JobConfError> {
        let configuration = JobConf::configuration(job_xml, job_xml.len() as u64, cluster, user)?;
        let conf = JobConf::from_configuration(&configuration)?;
        Ok(Self { workflow: conf.workflow, user_location: conf.history_user_location })
    }

    /// Pairs of a node and those after it (1.2.1 `JobInfo.getWorkflowAdjacencies`). They are escaped once more where they stand.
    pub(super) fn adjacencies(&self) -> String {
        let pair =
            |(node, after): &(String, String)| format!("\"{}\"=\"{}\" ", escaped_value(node), escaped_value(after));
        self.workflow.adjacency.iter().map(pair).collect()
    }

    /// The folder below which the user's copy lies; none: there is no copy (1.2.1 `JobInfo.getJobHistoryLogLocationForUser`).
    pub(super) fn user_folder(&self, output: Option<&str>) -> Option<String> {
        let folder = self.user_location.as_deref().or(output)?;
        (folder != HistorySettings::NO_COPY).then(|| folder.to_owned())
    }
}
