//! Memory that bodies of applications take, bytes: what of them is stored, queued or sent counts for their users.

use std::collections::BTreeMap;

use crate::model::{LaunchContext, Placement};

use super::call::{
    AllocateCall, AskRow, Blacklist, ContainerStart, LaunchOnGrant, LaunchSource, RegisterCall, Submission,
    SubmittedMaster, UnregisterCall,
};

/// A text or a number in a list or a map, beside the bytes of the text.
pub(crate) const ENTRY_BYTES: u64 = 64;
/// A row of a table, beside its texts.
pub(crate) const ROW_BYTES: u64 = 192;
/// An application, beside its texts.
pub(crate) const APPLICATION_BYTES: u64 = 4_096;

fn text(text: &str) -> u64 {
    text.len() as u64
}

fn optional(of: Option<&String>) -> u64 {
    of.map_or(0, |of| text(of))
}

fn texts(of: &[String]) -> u64 {
    of.iter().map(|one| ENTRY_BYTES + text(one)).sum()
}

fn specs(specs: &BTreeMap<String, LaunchContext>) -> u64 {
    specs.iter().map(|(name, context)| 2 * ENTRY_BYTES + text(name) + context.bytes()).sum()
}

impl AskRow {
    /// Memory that it takes, bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let Self { resource_name, launch, .. } = self;
        let of_launch =
            launch.as_ref().map_or(0, |LaunchOnGrant { spec, items, .. }| text(spec) + optional(items.as_ref()));
        ROW_BYTES + resource_name.bytes() + of_launch
    }
}

impl Submission {
    pub(crate) fn bytes(&self) -> u64 {
        let Self {
            application_id: _,
            name,
            application_type,
            queue,
            priority: _,
            expiry_ms: _,
            strict_gates: _,
            tracking_url,
            specs: contexts,
            unattended,
            master,
        } = self;
        let master = master.as_deref().map_or(0, |SubmittedMaster { context, .. }| context.bytes());
        let rows: u64 = unattended.iter().flatten().map(AskRow::bytes).sum();
        APPLICATION_BYTES
            + text(name)
            + text(application_type)
            + optional(queue.as_ref())
            + optional(tracking_url.as_ref())
            + specs(contexts)
            + rows
            + master
    }
}

impl RegisterCall {
    pub(crate) fn bytes(&self) -> u64 {
        let Self { tracking_url } = self;
        optional(tracking_url.as_ref())
    }
}

impl UnregisterCall {
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        let Self { attempt: _, final_status: _, diagnostics } = self;
        text(diagnostics)
    }
}

impl AllocateCall {
    pub(crate) fn bytes(&self) -> u64 {
        let Self {
            attempt: _,
            response_id: _,
            progress: _,
            wait_ms: _,
            ask,
            release,
            specs: contexts,
            launch,
            blacklist,
        } = self;
        let Blacklist { additions, removals } = blacklist;
        let starts = launch.iter().map(|ContainerStart { source, .. }| {
            ENTRY_BYTES
                + match source {
                    LaunchSource::Spec(name) => text(name),
                    LaunchSource::Context(context) => ENTRY_BYTES + context.bytes(),
                }
        });
        ask.iter().map(AskRow::bytes).sum::<u64>()
            + release.len() as u64 * ENTRY_BYTES
            + specs(contexts)
            + starts.sum::<u64>()
            + texts(additions)
            + texts(removals)
    }

    /// Whether it brings nothing that is kept, for an application with so many live containers: it only gives them back,
    /// launches them in stored contexts, or drops types. What it names beside them is in its answer, which is kept.
    pub(crate) fn only_gives_back(&self, live: usize) -> bool {
        let brings_context = |start: &ContainerStart| matches!(start.source, LaunchSource::Context(_));
        let drops =
            |row: &AskRow| row.resource_name == Placement::Any && row.num_containers == 0 && row.launch.is_none();
        let names = self.release.len() + self.launch.len();
        names <= live
            && self.ask.iter().all(drops)
            && self.specs.is_empty()
            && self.blacklist.additions.is_empty()
            && !self.launch.iter().any(brings_context)
    }
}
