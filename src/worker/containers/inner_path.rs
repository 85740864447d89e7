//! Paths from others that must stay below a folder.

use std::ffi::OsString;
use std::path::{Component, Path};

/// The names on the way down a relative path, none of them `..`; empty for the folder itself. None: it leads out.
pub(crate) fn names_below(path: &Path) -> Option<Vec<OsString>> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(names)
}
