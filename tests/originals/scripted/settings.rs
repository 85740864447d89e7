//! What a scheduler is configured with.

use std::fmt;
use std::str::FromStr;

use crate::dice::Dice;

use super::{capacity_settings, fair_settings};

/// A scheduler of Hadoop 1.2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerName {
    /// `JobQueueTaskScheduler`
    Fifo,
    /// `CapacityTaskScheduler`
    Capacity,
    /// `FairScheduler`
    Fair,
}

/// The configuration of a script.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Keys of mapred-site.xml.
    pub site: Vec<(String, String)>,
    /// Keys of capacity-scheduler.xml.
    pub capacity: Vec<(String, String)>,
    /// The allocation file.
    pub allocations: Option<String>,
    /// Which jobs may be submitted.
    pub jobs: JobChoices,
}

/// Of what the jobs of a script are made.
#[derive(Clone, Debug)]
pub struct JobChoices {
    /// Queues that take jobs.
    pub queues: Vec<String>,
    /// Pools that jobs name; empty: none does.
    pub pools: Vec<String>,
    /// Largest memory of a task, MB; none: jobs ask for none.
    pub max_memory_mb: Option<u32>,
    /// Whether priorities may change.
    pub is_reordered: bool,
    /// Whether the script goes round the trackers, in equal steps of time.
    pub is_in_rounds: bool,
}

/// All queues of the JobTracker. Java's hash tables have them in this order.
pub const QUEUES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

// === impl SchedulerName ===

impl FromStr for SchedulerName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "fifo" => Ok(Self::Fifo),
            "capacity" => Ok(Self::Capacity),
            "fair" => Ok(Self::Fair),
            other => Err(format!("no scheduler is called {other}: fifo, capacity or fair")),
        }
    }
}

impl fmt::Display for SchedulerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fifo => "fifo",
            Self::Capacity => "capacity",
            Self::Fair => "fair",
        })
    }
}

// === impl Settings ===

impl Settings {
    /// Random settings of a scheduler.
    pub fn random(scheduler: SchedulerName, dice: &mut Dice) -> Self {
        match scheduler {
            SchedulerName::Fifo => Self::default(),
            SchedulerName::Capacity => capacity_settings::random(dice),
            SchedulerName::Fair => fair_settings::random(dice),
        }
    }

    /// The files of the configuration, by name.
    pub fn files(&self, folder: &str) -> Vec<(&'static str, String)> {
        let mut site = self.site.clone();
        let mut files = Vec::new();
        if let Some(allocations) = &self.allocations {
            site.push(("mapred.fairscheduler.allocation.file".to_owned(), format!("{folder}/fair-scheduler.xml")));
            files.push(("fair-scheduler.xml", allocations.clone()));
        }
        files.push(("mapred-site.xml", configuration(&site)));
        files.push(("capacity-scheduler.xml", configuration(&self.capacity)));
        files
    }
}

/// A configuration file with these keys.
fn configuration(keys: &[(String, String)]) -> String {
    let property =
        |(name, value): &(String, String)| format!("<property><name>{name}</name><value>{value}</value></property>\n");
    format!("<configuration>\n{}</configuration>\n", keys.iter().map(property).collect::<String>())
}

// === impl JobChoices ===

impl Default for JobChoices {
    fn default() -> Self {
        let queues = QUEUES.map(str::to_owned).to_vec();
        Self { queues, pools: Vec::new(), max_memory_mb: None, is_reordered: true, is_in_rounds: false }
    }
}
