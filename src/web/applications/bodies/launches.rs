//! Launches of an allocate call.

use crate::api::applications::{ContainerStart, LaunchSource};

use super::super::json::{Item, Members};
use super::launch_context::read_context;
use super::names;

/// Items are numbers below 2^31.
const MAX_ITEM: u64 = i32::MAX as u64;

/// Reads the launch of one container.
pub(super) fn read_launch(item: Item<'_>) -> Option<ContainerStart> {
    let mut members = Members::of(item)?;
    let container_id = members.required("container-id", names::container_id);
    let source = source(&mut members);
    let item = members.optional("item", |item| item.whole(0..=MAX_ITEM));
    members.end()?;
    Some(ContainerStart { container_id: container_id?, source: source?, item: item? })
}

fn source(members: &mut Members<'_>) -> Option<LaunchSource> {
    let spec = members.optional("spec", names::spec_name)?;
    let context = members.optional("context", read_context)?;
    match (spec, context) {
        (Some(spec), None) => Some(LaunchSource::Spec(spec)),
        (None, Some(context)) => Some(LaunchSource::Context(Box::new(context))),
        (Some(_), Some(_)) => members.refuse("expected spec or context, found both"),
        (None, None) => members.refuse("expected spec or context, found neither"),
    }
}
