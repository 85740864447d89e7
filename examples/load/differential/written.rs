//! Scripts written by hand.

use super::script::Script;

/// All of them, by name.
pub fn all() -> Vec<(&'static str, Script)> {
    Vec::new()
}
