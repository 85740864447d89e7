//! The rows of one type of requests as they stand, and what starts its containers.

use std::collections::BTreeMap;

use crate::api::applications::Placement;

use super::container::LoweredRows;
use super::items::Items;
use super::record::TypeLaunch;

/// The rows of one type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestTable {
    /// By name: hosts, racks, any.
    pub rows: BTreeMap<Placement, RequestRow>,
    /// What starts its containers when they are granted.
    pub launch: Option<TypeLaunch>,
    pub items: Items,
    /// How many of them were taken, in the order in which they are written.
    pub taken: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRow {
    /// Containers that are still wanted here.
    pub count: u32,
    /// Whether containers may come from farther away than this row.
    pub relaxes: bool,
}

impl RequestTable {
    /// Containers that are still wanted.
    pub fn outstanding(&self) -> u32 {
        self.rows.get(&Placement::Any).map_or(0, |row| row.count)
    }

    /// The rows that a grant lowers, as they are then.
    pub fn lowered(&self, lowered: LoweredRows, host: &str, rack: &str) -> Vec<(Placement, RequestRow)> {
        let host = lowered.host.then(|| Placement::Host(host.to_owned()));
        let rack = lowered.rack_of(rack).map(|rack| Placement::Rack(rack.to_owned()));
        let names = host.into_iter().chain(rack).chain([Placement::Any]);
        let lower = |row: &RequestRow| RequestRow { count: row.count.saturating_sub(1), ..*row };
        names.filter_map(|name| self.rows.get(&name).map(lower).map(|row| (name, row))).collect()
    }
}
