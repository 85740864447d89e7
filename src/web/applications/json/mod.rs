//! A strict reader of JSON bodies: every member is asked for by name, and everything that is wrong is found with its
//! pointer, not only the first.

mod item;
mod place;
mod value;

pub(super) use item::{Item, Members};
pub(super) use place::{Findings, MAX_FINDINGS};
pub(super) use value::JsonValue;
