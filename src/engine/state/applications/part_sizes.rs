//! Memory that the parts of an application take, bytes.

use crate::api::applications::{ENTRY_BYTES, ROW_BYTES};

use super::container::Container;
use super::record::{GrantSource, Standing};
use super::request_table::RequestTable;

/// A container, beside its diagnostics.
const CONTAINER_BYTES: u64 = 768;
/// An item that did not end well at once.
pub(super) const TROUBLE_BYTES: u64 = 128;

pub(super) fn text(text: &str) -> u64 {
    text.len() as u64
}

pub(super) fn of_table(table: &RequestTable) -> u64 {
    let rows: u64 = table.rows.keys().map(|place| ROW_BYTES + place.bytes()).sum();
    rows + of_launch(table)
}

pub(super) fn of_launch(table: &RequestTable) -> u64 {
    let Some(launch) = &table.launch else { return 0 };
    let spec = match &launch.source {
        GrantSource::Spec(name) => text(name),
        GrantSource::Master => 0,
    };
    // The text, and its parts as numbers.
    ENTRY_BYTES + spec + launch.items.as_deref().map_or(0, |items| 4 * text(items))
}

pub(super) fn of_standing(standing: &Standing) -> u64 {
    let taken_in = standing.taken_in.as_ref().map_or(0, |taken_in| {
        let launches = taken_in.unknown_launches.iter().map(|launch| ENTRY_BYTES + text(&launch.reason));
        taken_in.unknown_releases.len() as u64 * ENTRY_BYTES + launches.sum::<u64>()
    });
    text(&standing.diagnostics) + standing.tracking_url.as_deref().map_or(0, text) + taken_in
}

pub(super) fn of_container(container: &Container) -> u64 {
    let of_kill = container.kill.as_ref().map_or(0, |kill| text(&kill.diagnostics));
    CONTAINER_BYTES + of_kill + container.end.as_ref().map_or(0, |end| text(&end.diagnostics))
}
