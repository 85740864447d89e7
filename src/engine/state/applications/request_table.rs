//! The rows of one type of requests as they stand, and what starts its containers.

use std::collections::BTreeMap;

use crate::api::applications::Placement;

use super::container::LoweredRows;
use super::items::Items;
use super::record::TypeLaunch;

/// The rows of one type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestTable {
    /// By name: hosts, racks, any.
    pub(crate) rows: BTreeMap<Placement, RequestRow>,
    /// What starts its containers when they are granted.
    pub(crate) launch: Option<TypeLaunch>,
    pub(crate) items: Items,
    /// How many of them were taken, in the order in which they are written.
    pub(crate) taken: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestRow {
    /// Containers that are still wanted here.
    pub(crate) count: u32,
    /// Whether containers may come from farther away than this row.
    pub(crate) relaxes: bool,
}

impl RequestTable {
    /// Containers that are still wanted.
    pub(crate) fn outstanding(&self) -> u32 {
        self.rows.get(&Placement::Any).map_or(0, |row| row.count)
    }

    /// The rows that a grant lowers, as they are then.
    pub(crate) fn lowered(&self, lowered: LoweredRows, host: &str, rack: &str) -> Vec<(Placement, RequestRow)> {
        let host = lowered.host.then(|| Placement::Host(host.to_owned()));
        let rack = lowered.rack_of(rack).map(|rack| Placement::Rack(rack.to_owned()));
        let names = host.into_iter().chain(rack).chain([Placement::Any]);
        let lower = |row: &RequestRow| RequestRow { count: row.count.saturating_sub(1), ..*row };
        names.filter_map(|name| self.rows.get(&name).map(lower).map(|row| (name, row))).collect()
    }
}
