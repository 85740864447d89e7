//! Watches the NameNode of the system directory (1.2.1 `JobTracker.HDFSMonitorThread`): `/readyz` and the log say while it is away or in
//! safe mode, and with `mapreduce.jt.hdfs.monitor.enable` the engine is in safe mode meanwhile.

use std::rc::Rc;
use std::time::Duration;

use crate::config::{ConfigError, Settings, keys};
use crate::engine::Event;
use crate::fs::{FileSystem, FileUri, FsError};

use super::owner::Owner;
use super::submission::AwaitedFiles;

/// The watch, while the daemon serves.
pub(crate) struct HdfsMonitor {
    files: FileSystem,
    system: FileUri,
    interval: Duration,
    sets_safe_mode: bool,
    awaited_files: AwaitedFiles,
    owner: Rc<Owner>,
}

impl HdfsMonitor {
    /// None where the system directory lies on this machine.
    pub(crate) fn new(
        settings: &Settings,
        awaited_files: AwaitedFiles,
        owner: Rc<Owner>,
    ) -> Result<Option<Self>, ConfigError> {
        let configuration = &settings.configuration;
        let interval = Duration::from_millis(configuration.number(&keys::HDFS_MONITOR_INTERVAL)?);
        let sets_safe_mode = configuration.flag(&keys::HDFS_MONITOR)?;
        let system = settings.directories.system.clone();
        let is_watched = system.namenode().is_some();
        let files = settings.files.of(&system);
        Ok(is_watched.then_some(Self { files, system, interval, sets_safe_mode, awaited_files, owner }))
    }

    /// Never completes.
    pub(crate) async fn run(self) {
        loop {
            let (files, system) = (self.files.clone(), self.system.clone());
            // It fails when the daemon stops.
            let Ok(looked) = tokio::task::spawn_blocking(move || files.is_writable(&system)).await else { return };
            self.report(self.why_away(looked));
            tokio::time::sleep(self.interval).await;
        }
    }

    /// Why nothing can be written there, if so.
    fn why_away(&self, looked: Result<bool, FsError>) -> Option<String> {
        match looked {
            Ok(true) => None,
            Ok(false) => Some(format!("the NameNode of {} is in safe mode", self.system)),
            Err(error) => Some(error.to_string()),
        }
    }

    fn report(&self, why_away: Option<String>) {
        if self.sets_safe_mode {
            self.owner.step(Event::FileSystemWatched { is_away: why_away.is_some() });
        }
        let text = why_away.clone();
        if self.awaited_files.set_at_last_look(why_away) {
            match text {
                Some(reason) => tracing::warn!("the files of jobs cannot be reached: {reason}"),
                None => tracing::info!("the files of jobs can be reached again"),
            }
        }
    }
}
