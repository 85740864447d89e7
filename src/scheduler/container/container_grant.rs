//! The interface between the granting of containers and the code that keeps them.

use std::sync::Arc;

use crate::model::TrackerId;
use crate::scheduler::{AppId, Level};

use super::{RequestType, RowName};

/// The host and rack rows that a grant has lowered, beside `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountedRows {
    pub(crate) host: Option<Arc<str>>,
    pub(crate) rack: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContainerGrant {
    pub(crate) app: AppId,
    pub(crate) request: RequestType,
    pub(crate) node: TrackerId,
    /// How near the node is to what was asked.
    pub(crate) level: Level,
    pub(crate) counted: CountedRows,
    /// Slots that it stands for in quotas, orders and charges.
    pub(crate) slots: u32,
}

/// Takes containers as they are granted.
pub(crate) trait ContainerSource {
    /// Takes a container; false: not now, for example because the application holds as many as it may. Nothing was
    /// counted then, and this application is passed over until the node is offered again.
    fn take_container(&mut self, grant: &ContainerGrant) -> bool;
}

impl ContainerGrant {
    /// The row that gave the level.
    pub(crate) fn row_name(&self) -> RowName {
        let CountedRows { host, rack } = &self.counted;
        match self.level {
            Level::Node => host.clone().map_or(RowName::Any, RowName::Host),
            Level::Rack => rack.clone().map_or(RowName::Any, RowName::Rack),
            Level::Any => RowName::Any,
        }
    }
}
