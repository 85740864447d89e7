//! Puts together what runs containers, when the worker starts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, watch};

use crate::model::{Capability, hex};
use crate::supervisor::Keepers;

use super::super::attempt_logs::AttemptLogs;
use super::super::error::TaskTrackerError;
use super::super::local_folders::LocalFolders;
use super::super::memory_monitor::MemoryMonitor;
use super::super::node_health::NodeHealth;
use super::super::settings::TaskTrackerSettings;
use super::control::ContainerControl;
use super::control_groups::ProcessLooks;
use super::conversation::{BeatIdentity, LaunchContexts};
use super::logs::ContainerLogs;
use super::own_folders::OwnFolders;
use super::resource_cache::ResourceCaches;
use super::runner::{AdmittedUsers, ContainerRunner};
use super::service::ContainerService;
use super::settings::WorkerContainerSettings;
use super::table::TrackedContainers;

/// What the worker has for containers once it has started.
pub(crate) struct StartedContainers {
    pub(crate) service: ContainerService,
    pub(crate) runner: Arc<ContainerRunner>,
    /// SHA-256 of the secret of the beats, hex digits: the worker's heartbeats carry it.
    pub(crate) beat_digest: String,
    /// How much room they have, and what keeps each within its own.
    pub(crate) about: String,
}

pub(crate) struct ContainerSurroundings<'a> {
    pub(crate) settings: &'a TaskTrackerSettings,
    pub(crate) tracker: &'a str,
    pub(crate) http_port: u16,
    pub(crate) folders: &'a Arc<LocalFolders>,
    pub(crate) logs: &'a AttemptLogs,
    pub(crate) memory_monitor: &'a Arc<MemoryMonitor>,
    pub(crate) health: &'a Arc<NodeHealth>,
    pub(crate) environment: &'a BTreeMap<String, String>,
    pub(crate) supervisor: Option<PathBuf>,
}

impl StartedContainers {
    /// Makes ready what containers need. `registered` counts how often the JobTracker has registered the worker.
    pub(crate) fn new(
        of_containers: &WorkerContainerSettings,
        surroundings: &ContainerSurroundings<'_>,
        registered: watch::Receiver<u64>,
    ) -> Result<Self, TaskTrackerError> {
        let settings = surroundings.settings;
        let limits = of_containers.limits().map_err(|why| TaskTrackerError::NoControlGroup(why.to_string()))?;
        let mut random = [0; 40];
        getrandom::fill(&mut random).map_err(|error| TaskTrackerError::Start(std::io::Error::other(error)))?;
        let (secret, incarnation) = random.split_at(32);
        let secret = hex(secret);
        let beat_digest = hex(Sha256::digest(secret.as_bytes()).as_slice());
        let incarnation = incarnation.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let (events, received) = mpsc::unbounded_channel();
        let logs = ContainerLogs::new(surroundings.logs.clone());
        let runner = Arc::new(ContainerRunner {
            folders: OwnFolders::new(surroundings.folders.clone()),
            environment: surroundings.environment.clone(),
            configuration: settings.configuration.clone(),
            keepers: surroundings.supervisor.clone().map(|program| Arc::new(Keepers::new(program))),
            run_as: settings.run_as.clone(),
            users: AdmittedUsers::default(),
            node_id: format!("{}:{}", settings.host, surroundings.http_port),
            log_limit_bytes: of_containers.log_limit_bytes,
            memory_interval: settings.memory_interval,
            groups: limits.groups.clone(),
            caches: ResourceCaches::new(of_containers.shared_file_bytes),
            looks: ProcessLooks::default(),
            log_sums: Mutex::new(logs.sums()),
            logs,
            live: Mutex::new(BTreeSet::new()),
            events,
        });
        let tracker = surroundings.tracker.to_owned();
        let service = ContainerService {
            jobtracker: settings.jobtracker.clone(),
            user: settings.user.clone(),
            identity: BeatIdentity { tracker, incarnation, secret, declared: of_containers.declared },
            health: surroundings.health.clone(),
            least: Capability::default(),
            max_stop_grace: of_containers.max_stop_grace,
            table: TrackedContainers::default(),
            contexts: LaunchContexts::default(),
            memory_monitor: surroundings.memory_monitor.clone(),
            runner: runner.clone(),
            spare: Arc::new(ContainerControl::new().map_err(TaskTrackerError::Start)?),
            events: received,
            registered,
            stops_at: None,
        };
        let about = format!("{}; {limits}", of_containers.declared.capability);
        Ok(Self { service, runner, beat_digest, about })
    }
}
