//! What of a job.xml may name the job's pool under the Fair scheduler (1.2.1 contrib `PoolManager.getPoolName`). Kept with
//! the job: another policy may take over while it runs.

use std::collections::BTreeMap;

/// The property of a job that names its pool, whatever the scheduler is configured with.
pub const POOL_PROPERTY: &str = "mapred.fairscheduler.pool";

/// Properties that a Fair scheduler is usually configured to take the pool from, beside user and queue.
pub(crate) const USUAL_POOL_PROPERTIES: [&str; 2] = ["pool.name", "group.name"];

/// Values of properties that may name the pool, by property.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PoolProperties(pub BTreeMap<String, String>);

impl PoolProperties {
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|(property, value)| property.len() + value.len()).sum()
    }
}
