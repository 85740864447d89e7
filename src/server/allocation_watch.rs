//! Reads the Fair scheduler's allocation file again after an edit (1.2.1 contrib `PoolManager.reloadAllocsIfNecessary`).
//!
//! A bad edit changes nothing and is logged once, until a load succeeds.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::config::settings::fair::{ALLOCATION_FILE, FairSettings, read_allocation_file};
use crate::config::{ConfigError, Settings, Warning};
use crate::engine::Event;
use crate::scheduler::fair::allocations::Allocations;
use crate::scheduler::fair::reload::ReloadRule;

use super::owner::Owner;

/// Time between two questions whether a look at the file is due.
const PAUSE: Duration = Duration::from_secs(1);

/// Watches while the daemon serves; idle under another policy.
pub(crate) struct AllocationWatch {
    /// As a key names it.
    named: Option<PathBuf>,
    conf_dir: Option<PathBuf>,
    file: PathBuf,
    owner: Rc<Owner>,
}

impl AllocationWatch {
    /// None where no file could be named: no conf folder, or keys of the Fair scheduler that it would refuse.
    pub(crate) fn new(settings: &Settings, owner: Rc<Owner>) -> Option<Self> {
        let named = FairSettings::from_configuration(&settings.configuration).ok()?.allocation_file;
        let conf_dir = settings.conf_dir.clone();
        let of_folder = conf_dir.as_ref().map(|folder| folder.join(ALLOCATION_FILE));
        let file = named.clone().or(of_folder)?;
        Some(Self { named, conf_dir, file, owner })
    }

    /// Never completes.
    pub(crate) async fn run(self) {
        let now = self.owner.clock().now();
        let mut rule = ReloadRule::new(now.mono_ms, now.wall_ms);
        loop {
            tokio::time::sleep(PAUSE).await;
            let now = self.owner.clock().now();
            let rules = self.owner.with_engine(|engine| engine.pool_name_property().is_some());
            if !rules || !rule.is_look_due(now.mono_ms) {
                continue;
            }
            let file = self.file.clone();
            let look = tokio::task::spawn_blocking(move || modified_wall_ms(&file)).await;
            let Ok(Some(modified_ms)) = look else { continue };
            if rule.is_read_due(modified_ms, now.wall_ms) {
                self.load(&mut rule, now.wall_ms).await;
            }
        }
    }

    async fn load(&self, rule: &mut ReloadRule, now_wall_ms: i64) {
        let (named, conf_dir) = (self.named.clone(), self.conf_dir.clone());
        let read = move || read_allocation_file(named.as_deref(), conf_dir.as_deref());
        match tokio::task::spawn_blocking(read).await {
            Ok(Ok((allocations, warnings))) => {
                rule.on_loaded(now_wall_ms);
                self.apply(allocations, &warnings);
            }
            Ok(Err(error)) if rule.on_failed() => self.log_refused(&error),
            // Logged before, or the daemon stops.
            _ => {}
        }
    }

    fn apply(&self, allocations: Allocations, warnings: &[Warning]) {
        warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        tracing::info!("{}: read again: {} pools are declared", self.file.display(), allocations.pools.len());
        self.owner.step(Event::AllocationsRead { allocations: Arc::new(allocations) });
    }

    fn log_refused(&self, error: &ConfigError) {
        tracing::error!("the allocations before stay in force: {error}");
    }
}

/// When the file was last modified; none where that is unknown.
fn modified_wall_ms(file: &std::path::Path) -> Option<i64> {
    let modified: SystemTime = std::fs::metadata(file).ok()?.modified().ok()?;
    i64::try_from(modified.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}
