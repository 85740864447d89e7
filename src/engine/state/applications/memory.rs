//! Memory that applications take, bytes, counted as they change.
//!
//! Invariant: `counts.bytes` is the sum over all parts of an application, and the sum of a user is over those that are not
//! over.

use crate::api::applications::{APPLICATION_BYTES, ENTRY_BYTES, ROW_BYTES};
use crate::engine::state::live_bytes::LiveBytes;
use crate::model::Violations;
use crate::scheduler::RequestType;

use super::application::Application;
use super::change::ApplicationChange;
use super::container::Container;
use super::record::{GrantSource, Standing};
use super::request_table::RequestTable;
use super::table::Applications;

/// A container, beside its diagnostics.
const CONTAINER_BYTES: u64 = 768;
/// An item that did not end well at once.
const TROUBLE_BYTES: u64 = 128;

fn text(text: &str) -> u64 {
    text.len() as u64
}

fn of_table(table: &RequestTable) -> u64 {
    let rows: u64 = table.rows.keys().map(|place| ROW_BYTES + place.bytes()).sum();
    rows + of_launch(table)
}

fn of_launch(table: &RequestTable) -> u64 {
    let Some(launch) = &table.launch else { return 0 };
    let spec = match &launch.source {
        GrantSource::Spec(name) => text(name),
        GrantSource::Master => 0,
    };
    // The text, and its parts as numbers.
    ENTRY_BYTES + spec + launch.items.as_deref().map_or(0, |items| 4 * text(items))
}

fn of_standing(standing: &Standing) -> u64 {
    let taken_in = standing.taken_in.as_ref().map_or(0, |taken_in| {
        let launches = taken_in.unknown_launches.iter().map(|launch| ENTRY_BYTES + text(&launch.reason));
        taken_in.unknown_releases.len() as u64 * ENTRY_BYTES + launches.sum::<u64>()
    });
    text(&standing.diagnostics) + standing.tracking_url.as_deref().map_or(0, text) + taken_in
}

/// Memory of a container.
pub(super) fn of_container(container: &Container) -> u64 {
    let of_kill = container.kill.as_ref().map_or(0, |kill| text(&kill.diagnostics));
    CONTAINER_BYTES + of_kill + container.end.as_ref().map_or(0, |end| text(&end.diagnostics))
}

// === impl Application ===

impl Application {
    /// Memory of the part of it that a change replaces. Containers count by themselves.
    pub(super) fn part_bytes(&self, change: &ApplicationChange) -> u64 {
        let of_type = |request: &RequestType| self.tables.get(request);
        match change {
            ApplicationChange::ContextKept { number, .. } | ApplicationChange::ContextDropped { number, .. } => {
                self.contexts.get(number).map_or(0, |context| ENTRY_BYTES + context.bytes())
            }
            ApplicationChange::SpecNamed { name, .. } => self.specs.get(name).map_or(0, |_| ENTRY_BYTES + text(name)),
            ApplicationChange::RowSet { request, place, .. } => {
                let has_row = of_type(request).is_some_and(|table| table.rows.contains_key(place));
                if has_row { ROW_BYTES + place.bytes() } else { 0 }
            }
            ApplicationChange::TypeDropped { request, .. } => of_type(request).map_or(0, of_table),
            ApplicationChange::LaunchSet { request, .. } => of_type(request).map_or(0, of_launch),
            ApplicationChange::ItemTroubled { request, item, .. } => {
                let is_there = self.troubles.get(request).is_some_and(|items| items.contains_key(item));
                if is_there { TROUBLE_BYTES } else { 0 }
            }
            ApplicationChange::Blacklisted { name, .. } => {
                if self.blacklist.contains(name) {
                    ENTRY_BYTES + text(name)
                } else {
                    0
                }
            }
            ApplicationChange::Stands { .. }
            | ApplicationChange::Answered { .. }
            | ApplicationChange::Listed { .. } => {
                of_standing(&self.standing) + self.last_answer.as_ref().map_or(0, |answer| answer.len() as u64)
            }
            ApplicationChange::IdGiven { .. }
            | ApplicationChange::Submitted { .. }
            | ApplicationChange::ItemsTaken { .. }
            | ApplicationChange::Container(_)
            | ApplicationChange::Charged { .. }
            | ApplicationChange::Stamped(_)
            | ApplicationChange::ApplicationStamped { .. } => 0,
        }
    }

    /// Memory of all its parts, counted anew.
    pub(super) fn recounted_bytes(&self) -> u64 {
        let submitted = &self.submitted;
        let texts = [&submitted.name, &submitted.application_type].map(|of| text(of)).iter().sum::<u64>();
        let troubles: usize = self.troubles.values().map(std::collections::BTreeMap::len).sum();
        APPLICATION_BYTES
            + texts
            + text(&submitted.queue)
            + of_standing(&self.standing)
            + self.contexts.values().map(|context| ENTRY_BYTES + context.bytes()).sum::<u64>()
            + self.specs.keys().map(|name| ENTRY_BYTES + text(name)).sum::<u64>()
            + self.tables.values().map(of_table).sum::<u64>()
            + troubles as u64 * TROUBLE_BYTES
            + self.blacklist.iter().map(|name| ENTRY_BYTES + text(name)).sum::<u64>()
            + self.containers.values().map(of_container).sum::<u64>()
            + self.last_answer.as_ref().map_or(0, |answer| answer.len() as u64)
    }

    /// Memory that counts for its user: none once it is over and nothing of it lives.
    pub(super) fn live_bytes(&self) -> u64 {
        if self.is_over() && self.counts.live.is_empty() { 0 } else { self.counts.bytes }
    }
}

// === impl Applications ===

impl Applications {
    /// Memory of applications that are not over.
    pub fn live_bytes(&self) -> &LiveBytes {
        &self.live_bytes
    }

    /// Compares the sums with a recount of all applications: slow.
    pub fn check_live_bytes(&self, violations: &mut Violations) {
        let mut recounted = LiveBytes::default();
        for application in self.all.values() {
            let bytes = application.recounted_bytes();
            violations.check(application.counts.bytes == bytes, || {
                format!("{} takes {bytes} bytes, {} are counted", application.id(), application.counts.bytes)
            });
            recounted.add(&application.submitted.user, application.live_bytes());
        }
        let counted = &self.live_bytes;
        violations.check(*counted == recounted, || format!("applications take {recounted:?}, {counted:?} is counted"));
    }
}
