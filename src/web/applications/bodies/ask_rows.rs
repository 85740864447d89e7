//! Rows of `ask`.

use crate::api::applications::{AskRow, ItemRules, LaunchOnGrant, Placement};
use crate::model::Capability;

use super::super::json::{Item, Members};
use super::names;

/// Rows of one call.
pub(super) const MAX_ROWS: usize = 20_000;
/// Priorities, numbers of containers and amounts: what Hadoop's `int` holds.
const MAX_INT: u64 = i32::MAX as u64;
/// Allocation request ids: what Hadoop's `long` holds.
const MAX_LONG: u64 = i64::MAX as u64;
/// How often an item may be tried.
pub(super) const MAX_ATTEMPTS: u64 = 100;

/// Whose rows they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// A program that registered.
    Attended,
    /// The submission of an unattended application: the rows are all that it will ever say.
    Unattended,
}

pub(super) fn read_row(item: Item<'_>, asker: Asker) -> Option<AskRow> {
    let mut members = Members::of(item)?;
    let priority = members.required("priority", |item| item.whole(0..=MAX_INT));
    let allocation_request_id = members.or("allocation-request-id", 0, |item| item.whole(0..=MAX_LONG));
    let resource_name = members.required("resource-name", |item| names::place(item).map(Placement::from));
    let capability = members.required("capability", read_capability);
    let relax_locality = members.or("relax-locality", true, |item| item.boolean());
    let launch = members.optional("launch", |item| launch_on_grant(item, asker));
    let count = members.optional("num-containers", |item| item.whole(0..=MAX_INT));
    let label = members.or("node-label-expression", (), |item| {
        item.parsed("an empty text: there are no labels here", |text| text.is_empty().then_some(()))
    });
    let kind = members.or("execution-type", (), |item| {
        item.parsed("GUARANTEED: there is no other type here", |text| (text == "GUARANTEED").then_some(()))
    });
    let is_anywhere = resource_name.as_ref().map(|name| *name == Placement::Any);
    if is_anywhere == Some(false) && members.has("launch") {
        members.refuse_at::<()>("launch", "only a row for * may have it");
    }
    if is_anywhere == Some(true) && asker == Asker::Unattended && !members.has("launch") {
        members.refuse_at::<()>(
            "launch",
            "the member is missing: only launches start an unattended application's containers",
        );
    }
    let has_items = matches!(&launch, Some(Some(LaunchOnGrant { items: Some(_), .. })));
    // Items are at least one. The engine counts them, and holds a number that was given to theirs.
    let num_containers = match count {
        Some(Some(0)) if has_items => members.refuse_at("num-containers", "expected the number of items, found 0"),
        Some(None) if has_items => Some(0),
        // Its launch is there and wrong, with items perhaps.
        Some(None) if launch.is_none() => None,
        Some(None) => members.refuse_at("num-containers", "the member is missing"),
        given => given.flatten(),
    };
    members.end()?;
    label?;
    kind?;
    Some(AskRow {
        priority: priority?,
        allocation_request_id: allocation_request_id?,
        resource_name: resource_name?,
        capability: capability?,
        num_containers: num_containers?,
        relax_locality: relax_locality?,
        launch: launch?,
    })
}

/// Reads memory and cores. What the largest and the smallest are is for the engine to say.
pub(super) fn read_capability(item: Item<'_>) -> Option<Capability> {
    let mut members = Members::of(item)?;
    let memory_mb = members.required("memory", |item| item.whole(0..=MAX_INT));
    let vcores = members.required("vCores", |item| item.whole(0..=MAX_INT));
    members.end()?;
    Some(Capability { memory_mb: memory_mb?, vcores: vcores? })
}

fn launch_on_grant(item: Item<'_>, asker: Asker) -> Option<LaunchOnGrant> {
    let mut members = Members::of(item)?;
    let spec = members.required("spec", names::spec_name);
    let items = members.optional("items", |item| item.plain_text().map(str::to_owned));
    let max_running = members.optional("max-running", |item| item.whole(1..=MAX_INT));
    let max_attempts = members.optional("max-attempts", |item| item.whole(1..=MAX_ATTEMPTS));
    let max_fails = members.optional("max-fails", |item| item.whole(0..=MAX_INT));
    if asker == Asker::Attended {
        for name in ["max-attempts", "max-fails"] {
            if members.has(name) {
                members.refuse_at::<()>(name, "only an unattended application may have it");
            }
        }
    }
    members.end()?;
    let rules = ItemRules { max_attempts: max_attempts?, max_fails: max_fails? };
    Some(LaunchOnGrant { spec: spec?, items: items?, max_running: max_running?, rules })
}
