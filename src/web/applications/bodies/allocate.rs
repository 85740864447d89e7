//! The body of an allocate call: its rows of `ask` and its launches.

use std::collections::BTreeMap;

use crate::api::applications::{
    AllocateCall, AskRow, Blacklist, ContainerStart, ItemRules, LaunchOnGrant, LaunchSource, Placement,
};
use crate::model::{Capability, PartsPerMillion};

use super::super::json::{Item, JsonValue, Members};
use super::launch_context::read_context;
use super::read;

/// Releases, and launches, of one call.
const MAX_CONTAINERS: usize = 10_000;
pub(crate) const MAX_WAIT_MS: u64 = 30_000;

/// What a call has more of than one call may have.
pub(crate) fn refuse_large_call(body: &JsonValue) -> Option<String> {
    let JsonValue::Object(members) = body else { return None };
    members.iter().find_map(|(name, value)| {
        let most = match name.as_str() {
            "ask" => MAX_ROWS,
            "release" | "launch" => MAX_CONTAINERS,
            _ => return None,
        };
        match value {
            JsonValue::Array(items) if items.len() > most => {
                Some(format!("{name} has {} items; a call may have {most}", items.len()))
            }
            _ => None,
        }
    })
}

pub(crate) fn read_allocate(item: Item<'_>) -> Option<AllocateCall> {
    let mut members = Members::of(item)?;
    let attempt = members.required("attempt", read_attempt);
    let response_id = members.required("response-id", |item| item.whole(0..=i64::MAX as u64));
    let progress = members.optional("progress", progress);
    let wait_ms = members.or("wait-ms", 0, |item| item.whole(0..=MAX_WAIT_MS));
    let ask = members.or("ask", Vec::new(), |item| item.each(0..=MAX_ROWS, |row| read_row(row, Asker::Attended)));
    let release = members.or("release", Vec::new(), |item| item.each(0..=MAX_CONTAINERS, read::container_id));
    let specs = members.or("specs", BTreeMap::new(), read::specs);
    let launch = members.or("launch", Vec::new(), |item| item.each(0..=MAX_CONTAINERS, read_launch));
    let blacklist = members.or("blacklist", Blacklist::default(), blacklist);
    members.end()?;
    Some(AllocateCall {
        attempt: attempt?,
        response_id: response_id?,
        progress: progress?,
        wait_ms: wait_ms?,
        ask: ask?,
        release: release?,
        specs: specs?,
        launch: launch?,
        blacklist: blacklist?,
    })
}

/// The attempt that `register` gave.
pub(super) fn read_attempt(item: Item<'_>) -> Option<u32> {
    item.whole(1..=u64::from(u32::MAX))
}

fn progress(item: Item<'_>) -> Option<PartsPerMillion> {
    // 0 to 1, so the product fits.
    item.share().map(|share| PartsPerMillion((share * 1_000_000.0).round() as u64))
}

fn blacklist(item: Item<'_>) -> Option<Blacklist> {
    let names = |item: Item<'_>| item.each(0..=MAX_ROWS, read::host_or_rack);
    let mut members = Members::of(item)?;
    let additions = members.or("additions", Vec::new(), names);
    let removals = members.or("removals", Vec::new(), names);
    members.end()?;
    Some(Blacklist { additions: additions?, removals: removals? })
}

/// Items are numbers below 2^31.
const MAX_ITEM: u64 = i32::MAX as u64;

pub(super) fn read_launch(item: Item<'_>) -> Option<ContainerStart> {
    let mut members = Members::of(item)?;
    let container_id = members.required("container-id", read::container_id);
    let source = source(&mut members);
    let item = members.optional("item", |item| item.whole(0..=MAX_ITEM));
    members.end()?;
    Some(ContainerStart { container_id: container_id?, source: source?, item: item? })
}

fn source(members: &mut Members<'_>) -> Option<LaunchSource> {
    let spec = members.optional("spec", read::spec_name)?;
    let context = members.optional("context", read_context)?;
    match (spec, context) {
        (Some(spec), None) => Some(LaunchSource::Spec(spec)),
        (None, Some(context)) => Some(LaunchSource::Context(Box::new(context))),
        (Some(_), Some(_)) => members.refuse("expected spec or context, found both"),
        (None, None) => members.refuse("expected spec or context, found neither"),
    }
}

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
    let resource_name = members.required("resource-name", |item| read::place(item).map(Placement::from));
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
    let spec = members.required("spec", read::spec_name);
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
