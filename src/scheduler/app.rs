//! Apps: who waits, who runs.

use crate::model::PerKind;

use super::request_table::RequestTable;
use super::{AppId, GroupId};

/// What the scheduler must know of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppSpec {
    /// Its id.
    pub id: AppId,
    /// The group it belongs to, for life.
    pub group: GroupId,
    /// 0 (`VERY_HIGH`) to 4 (`VERY_LOW`), as Hadoop 1.2.1 `JobPriority` numbers them.
    pub priority: u8,
    /// When it was submitted, wall clock, milliseconds.
    pub start_ms: i64,
    /// Sequence of submission: breaks every tie.
    pub order: u64,
}

/// An app with its sums.
#[derive(Debug)]
pub(super) struct App {
    pub(super) spec: AppSpec,
    pub(super) tables: PerKind<RequestTable>,
    pub(super) running: PerKind<u32>,
    /// Tasks it has in all, finished ones included; zero until told.
    pub(super) desired: PerKind<u32>,
    /// Tasks of it that are not done and do not run.
    pub(super) pending: PerKind<u32>,
    /// Removed by the caller; kept until its last attempt has left its slot, so that sums stay true.
    pub(super) draining: bool,
}

// === impl App ===

impl App {
    pub(super) fn new(spec: AppSpec) -> Self {
        Self {
            spec,
            tables: PerKind::default(),
            running: PerKind::default(),
            desired: PerKind::default(),
            pending: PerKind::default(),
            draining: false,
        }
    }

    /// True when nothing of a removed app is left.
    pub(super) fn is_drained(&self) -> bool {
        self.draining && self.running == PerKind::default()
    }
}
