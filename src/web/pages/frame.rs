//! What all pages have around their content.

use super::piece::Cell;

/// What all pages have around their content.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    /// Entries of the navigation: address, name.
    pub(super) entries: Vec<(&'static str, &'static str)>,
    pub(super) is_well: bool,
    pub(super) health: String,
    /// What is shown, as a number that rises.
    pub(super) generation: String,
    pub(super) as_of: Cell,
    /// Why what is shown is old.
    pub(super) stale: Option<String>,
    /// Notices above the content.
    pub(super) notices: Vec<String>,
    /// The user who has signed in, and the address of that user's page.
    pub(super) signed_in: Option<(String, String)>,
    pub(super) version: &'static str,
}
