//! What is probably a mistake in a submission, but may be meant.

use crate::cli::similar_key::{is_legitimate, nearest_key};
use crate::config::keys;

/// Edits that make a name of a property a mistyped one.
const MOST_EDITS: usize = 2;

/// Properties, `key=value`, whose names are close to a known key and are none.
pub(super) fn mistyped_properties(properties: &[String]) -> Vec<String> {
    let remark = |property: &String| {
        let name = property.split_once('=').map_or(property.as_str(), |(name, _)| name).trim();
        if keys::all().any(|key| key.is_spelled(name)) || is_legitimate(name) {
            return None;
        }
        let similar = nearest_key(name, MOST_EDITS)?;
        Some(format!("-D {name}: nothing reads this key; did you mean {similar}?"))
    };
    properties.iter().filter_map(remark).collect()
}

/// A job without input files.
pub(super) fn no_input(files: usize) -> Option<&'static str> {
    (files == 0).then_some(
        "the input has no files: no map runs. Files in subdirectories and names that begin with _ or . are not read",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_close_to_known_ones_are_remarked_and_others_are_not() {
        let of = |property: &str| mistyped_properties(&[property.to_owned()]);
        assert_eq!(
            of("mapred.reduce.taks=3"),
            ["-D mapred.reduce.taks: nothing reads this key; did you mean mapred.reduce.tasks?"]
        );
        for fine in ["mapred.reduce.tasks=3", "my.own.key=1", "mapred.queue.name=x", "io.sort.mb=10", "x"] {
            assert!(of(fine).is_empty(), "{fine}: {:?}", of(fine));
        }
        assert!(no_input(0).is_some() && no_input(1).is_none());
    }
}
