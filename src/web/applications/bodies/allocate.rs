//! The body of an allocate call.

use std::collections::BTreeMap;

use crate::api::applications::{AllocateCall, Blacklist};
use crate::model::PartsPerMillion;

use super::super::json::{Item, JsonValue, Members};
use super::ask_rows::{Asker, MAX_ROWS, read_row};
use super::launches::read_launch;
use super::names;

/// Releases, and launches, of one call.
const MAX_CONTAINERS: usize = 10_000;
/// The longest wait, ms.
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

/// Reads the body of an allocate call.
pub(crate) fn read_allocate(item: Item<'_>) -> Option<AllocateCall> {
    let mut members = Members::of(item)?;
    let attempt = members.required("attempt", read_attempt);
    let response_id = members.required("response-id", |item| item.whole(0..=i64::MAX as u64));
    let progress = members.optional("progress", progress);
    let wait_ms = members.or("wait-ms", 0, |item| item.whole(0..=MAX_WAIT_MS));
    let ask = members.or("ask", Vec::new(), |item| item.each(0..=MAX_ROWS, |row| read_row(row, Asker::Attended)));
    let release = members.or("release", Vec::new(), |item| item.each(0..=MAX_CONTAINERS, names::container_id));
    let specs = members.or("specs", BTreeMap::new(), names::specs);
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
    let names = |item: Item<'_>| item.each(0..=MAX_ROWS, names::host_or_rack);
    let mut members = Members::of(item)?;
    let additions = members.or("additions", Vec::new(), names);
    let removals = members.or("removals", Vec::new(), names);
    members.end()?;
    Some(Blacklist { additions: additions?, removals: removals? })
}
