//! Watches the NameNode of the system directory (1.2.1 `JobTracker.HDFSMonitorThread`, `mapreduce.jt.hdfs.monitor.enable`): the engine
//! is in safe mode while it is away or in safe mode itself.

use std::rc::Rc;
use std::time::Duration;

use crate::config::{ConfigError, Settings, keys};
use crate::engine::Event;
use crate::fs::{FileSystem, FileUri};

use super::owner::Owner;

/// The watch, while the daemon serves.
pub(crate) struct HdfsMonitor {
    files: FileSystem,
    system: FileUri,
    interval: Duration,
    owner: Rc<Owner>,
}

// === impl HdfsMonitor ===

impl HdfsMonitor {
    /// None where it is off, or where the system directory lies on this machine.
    ///
    /// # Errors
    /// [`ConfigError`]: a value that is none.
    pub(crate) fn new(settings: &Settings, owner: Rc<Owner>) -> Result<Option<Self>, ConfigError> {
        let configuration = &settings.configuration;
        let interval = Duration::from_millis(configuration.number(&keys::HDFS_MONITOR_INTERVAL)?);
        let system = settings.directories.system.clone();
        let is_on = configuration.flag(&keys::HDFS_MONITOR)? && system.namenode().is_some();
        Ok(is_on.then(|| Self { files: settings.files.of(&system), system, interval, owner }))
    }

    /// Never completes.
    pub(crate) async fn run(self) {
        loop {
            let (files, system) = (self.files.clone(), self.system.clone());
            let looked = tokio::task::spawn_blocking(move || files.is_writable(&system)).await;
            // The daemon stops.
            let Ok(looked) = looked else { return };
            if let Err(error) = &looked {
                tracing::debug!("the watch over the NameNode: {error}");
            }
            self.owner.step(Event::FileSystemWatched { is_away: !looked.unwrap_or(false) });
            tokio::time::sleep(self.interval).await;
        }
    }
}
