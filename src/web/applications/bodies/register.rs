//! The small bodies: `register`, `unregister`, and the state that is put.

use crate::api::applications::{FinalStatus, RegisterCall, UnregisterCall};

use super::super::json::{Item, Members};
use super::allocate::read_attempt;
use super::read;

const MAX_DIAGNOSTICS: usize = 65_536;

pub(crate) fn read_register(item: Item<'_>) -> Option<RegisterCall> {
    let mut members = Members::of(item)?;
    let tracking_url = members.optional("tracking-url", read::tracking_url);
    members.end()?;
    Some(RegisterCall { tracking_url: tracking_url? })
}

pub(crate) fn read_unregister(item: Item<'_>) -> Option<UnregisterCall> {
    let mut members = Members::of(item)?;
    let attempt = members.required("attempt", read_attempt);
    let final_status = members.required("final-status", |item| {
        item.parsed("SUCCEEDED, FAILED or KILLED", |text| match text {
            "SUCCEEDED" => Some(FinalStatus::Succeeded),
            "FAILED" => Some(FinalStatus::Failed),
            "KILLED" => Some(FinalStatus::Killed),
            _ => None,
        })
    });
    let diagnostics =
        members.or("diagnostics", String::new(), |item| item.text_of(0..=MAX_DIAGNOSTICS).map(str::to_owned));
    members.end()?;
    Some(UnregisterCall { attempt: attempt?, final_status: final_status?, diagnostics: diagnostics? })
}

/// Reads `{"state": "KILLED"}`, the only state that can be put.
pub(crate) fn read_kill(item: Item<'_>) -> Option<()> {
    let mut members = Members::of(item)?;
    let state = members.required("state", |item| item.parsed("KILLED", |text| (text == "KILLED").then_some(())));
    members.end()?;
    state
}
