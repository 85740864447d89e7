//! Memory that applications take, bytes, counted as they change.
//!
//! Invariant: `counts.bytes` is the sum over all parts of an application, and the sum of a user is over those that are not over.

use crate::api::applications::{APPLICATION_BYTES, ENTRY_BYTES, ROW_BYTES};
use crate::model::Violations;
use crate::scheduler::RequestType;

use super::application::Application;
use super::change::ApplicationChange;
use super::live_bytes::LiveBytes;
use super::record::{TROUBLE_BYTES, container_bytes, launch_bytes, standing_bytes, table_bytes, text_bytes};
use super::table::Applications;

impl Application {
    /// Memory of the part of it that a change replaces. Containers count by themselves.
    pub(super) fn part_bytes(&self, change: &ApplicationChange) -> u64 {
        let of_type = |request: &RequestType| self.tables.get(request);
        match change {
            ApplicationChange::ContextKept { number, .. } | ApplicationChange::ContextDropped { number, .. } => {
                self.contexts.get(number).map_or(0, |context| ENTRY_BYTES + context.bytes())
            }
            ApplicationChange::SpecNamed { name, .. } => {
                self.specs.get(name).map_or(0, |_| ENTRY_BYTES + text_bytes(name))
            }
            ApplicationChange::RowSet { request, place, .. } => {
                let has_row = of_type(request).is_some_and(|table| table.rows.contains_key(place));
                if has_row { ROW_BYTES + place.bytes() } else { 0 }
            }
            ApplicationChange::TypeDropped { request, .. } => of_type(request).map_or(0, table_bytes),
            ApplicationChange::LaunchSet { request, .. } => of_type(request).map_or(0, launch_bytes),
            ApplicationChange::ItemTroubled { request, item, .. } => {
                let is_there = self.troubles.get(request).is_some_and(|items| items.contains_key(item));
                if is_there { TROUBLE_BYTES } else { 0 }
            }
            ApplicationChange::Blacklisted { name, .. } => {
                if self.blacklist.contains(name) {
                    ENTRY_BYTES + text_bytes(name)
                } else {
                    0
                }
            }
            ApplicationChange::Stands { .. }
            | ApplicationChange::Answered { .. }
            | ApplicationChange::Listed { .. } => {
                standing_bytes(&self.standing) + self.last_answer.as_ref().map_or(0, |answer| answer.len() as u64)
            }
            ApplicationChange::IdGiven { .. }
            | ApplicationChange::Submitted { .. }
            | ApplicationChange::ItemsTaken { .. }
            | ApplicationChange::Container(_)
            | ApplicationChange::Charged { .. }
            | ApplicationChange::Stamped(_)
            | ApplicationChange::StampsForgotten(_) => 0,
        }
    }

    pub(super) fn recounted_bytes(&self) -> u64 {
        let submitted = &self.submitted;
        let texts = [&submitted.name, &submitted.application_type].map(|of| text_bytes(of)).iter().sum::<u64>();
        let troubles: usize = self.troubles.values().map(std::collections::BTreeMap::len).sum();
        APPLICATION_BYTES
            + texts
            + text_bytes(&submitted.queue)
            + standing_bytes(&self.standing)
            + self.contexts.values().map(|context| ENTRY_BYTES + context.bytes()).sum::<u64>()
            + self.specs.keys().map(|name| ENTRY_BYTES + text_bytes(name)).sum::<u64>()
            + self.tables.values().map(table_bytes).sum::<u64>()
            + troubles as u64 * TROUBLE_BYTES
            + self.blacklist.iter().map(|name| ENTRY_BYTES + text_bytes(name)).sum::<u64>()
            + self.containers.values().map(container_bytes).sum::<u64>()
            + self.last_answer.as_ref().map_or(0, |answer| answer.len() as u64)
    }

    /// Memory that counts for its user: none once it is over and nothing of it lives.
    pub(super) fn live_bytes(&self) -> u64 {
        if self.is_over() && self.counts.live.is_empty() { 0 } else { self.counts.bytes }
    }
}

impl Applications {
    pub(crate) fn live_bytes(&self) -> &LiveBytes {
        &self.live_bytes
    }

    /// Compares the sums with a recount of all applications: slow.
    pub(crate) fn check_live_bytes(&self, violations: &mut Violations) {
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
