//! Rows of an application's requests in a report: few at a time.

use std::sync::Arc;

use crate::api::applications::{ApplicationReport, ResourceRequestRow};

/// Bytes of reports that one step makes at most: others wait for it meanwhile.
pub(crate) const STEP_BYTES: usize = 512 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPage {
    /// So many rows come before the first.
    pub(crate) after: usize,
    /// At most so many, and those that fit in `STEP_BYTES`.
    pub(crate) most: usize,
}

/// The report that was made last, for all callers who wait for the same one.
#[derive(Debug)]
pub(crate) struct CachedReport {
    pub(crate) report: Arc<ApplicationReport>,
    pub(crate) rows: RowPage,
    /// When it was made, ms of the monotonic clock.
    pub(crate) at_mono_ms: u64,
}

/// Approximate bytes of a row without its items.
const ROW_BYTES: usize = 256;

impl RowPage {
    /// The first rows, of an application that is asked for by itself.
    pub(crate) const FIRST: Self = Self { after: 0, most: 100 };

    pub(super) fn of(
        self,
        all: usize,
        rows: impl Iterator<Item = ResourceRequestRow>,
    ) -> (Vec<ResourceRequestRow>, u64) {
        let mut left_bytes = STEP_BYTES;
        let fits = |row: &ResourceRequestRow| {
            let bytes = ROW_BYTES + row.items.as_ref().map_or(0, String::len);
            let is_first = left_bytes == STEP_BYTES;
            left_bytes = left_bytes.saturating_sub(bytes);
            is_first || left_bytes > 0
        };
        let rows: Vec<_> = rows.skip(self.after).take(self.most).take_while(fits).collect();
        let left_out = all.saturating_sub(rows.len()) as u64;
        (rows, left_out)
    }
}
