//! When the allocation file is read again, decided from times alone (1.2.1 `PoolManager.reloadAllocsIfNecessary`).

/// Time between two looks at the file, ms.
const LOOK_INTERVAL_MS: u64 = 10_000;
/// A file modified less than this ago may be half written, ms.
const SETTLE_MS: i64 = 5_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReloadRule {
    last_look_mono_ms: u64,
    last_load_wall_ms: i64,
    has_failed: bool,
}

impl ReloadRule {
    pub(crate) fn new(now_mono_ms: u64, now_wall_ms: i64) -> Self {
        Self { last_look_mono_ms: now_mono_ms, last_load_wall_ms: now_wall_ms, has_failed: false }
    }

    /// Whether to look at the file's modification time now.
    pub(crate) fn is_look_due(&mut self, now_mono_ms: u64) -> bool {
        let is_due = now_mono_ms.saturating_sub(self.last_look_mono_ms) > LOOK_INTERVAL_MS;
        if is_due {
            self.last_look_mono_ms = now_mono_ms;
        }
        is_due
    }

    /// Whether a file that was modified at this time is to be read: after the last successful load, and settled since.
    pub(crate) fn is_read_due(&self, modified_wall_ms: i64, now_wall_ms: i64) -> bool {
        modified_wall_ms > self.last_load_wall_ms && now_wall_ms > modified_wall_ms.saturating_add(SETTLE_MS)
    }

    pub(crate) fn on_loaded(&mut self, now_wall_ms: i64) {
        self.last_load_wall_ms = now_wall_ms;
        self.has_failed = false;
    }

    /// The file could not be loaded: the allocations before stay. Whether to log why: once, until a load succeeds.
    pub(crate) fn on_failed(&mut self) -> bool {
        !std::mem::replace(&mut self.has_failed, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_looked_at_every_ten_seconds() {
        let mut rule = ReloadRule::new(1_000, 0);
        assert!(!rule.is_look_due(11_000));
        assert!(rule.is_look_due(11_001));
        assert!(!rule.is_look_due(21_001));
        assert!(rule.is_look_due(21_002));
    }

    #[test]
    fn a_file_is_read_once_it_is_five_seconds_old_and_newer_than_the_last_load() {
        let mut rule = ReloadRule::new(0, 100_000);
        assert!(!rule.is_read_due(100_000, 200_000));
        assert!(!rule.is_read_due(150_000, 155_000));
        assert!(rule.is_read_due(150_000, 155_001));
        rule.on_loaded(155_001);
        assert!(!rule.is_read_due(150_000, 165_001));
    }

    #[test]
    fn an_error_is_logged_once_until_a_load_succeeds() {
        let mut rule = ReloadRule::new(0, 0);
        assert!(rule.on_failed());
        assert!(!rule.on_failed());
        rule.on_loaded(10);
        assert!(rule.on_failed());
    }
}
