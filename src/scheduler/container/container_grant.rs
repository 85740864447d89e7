//! The interface between the granting of containers and the code that keeps them.

use std::sync::Arc;

use crate::model::TrackerId;
use crate::scheduler::{AppId, Level};

use super::{RequestType, RowName};

/// The host and rack rows that a grant has lowered, beside `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CountedRows {
    pub host: Option<Arc<str>>,
    pub rack: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerGrant {
    pub app: AppId,
    pub request: RequestType,
    pub node: TrackerId,
    /// How near the node is to what was asked.
    pub level: Level,
    pub counted: CountedRows,
    /// Slots that it stands for in quotas, orders and charges.
    pub slots: u32,
}

/// Takes containers as they are granted.
pub trait ContainerSource {
    /// Takes a container; false: not now, for example because the application holds as many as it may. Nothing was
    /// counted then, and this application is passed over until the node is offered again.
    fn take_container(&mut self, grant: &ContainerGrant) -> bool;
}

impl ContainerGrant {
    /// The row that gave the level.
    pub fn row_name(&self) -> RowName {
        let CountedRows { host, rack } = &self.counted;
        match self.level {
            Level::Node => host.clone().map_or(RowName::Any, RowName::Host),
            Level::Rack => rack.clone().map_or(RowName::Any, RowName::Rack),
            Level::Any => RowName::Any,
        }
    }
}
