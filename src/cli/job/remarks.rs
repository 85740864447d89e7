//! What is probably a mistake in a submission, but may be meant.

use crate::config::unread_keys::unread_key;

/// Properties, `key=value`, that nothing reads: below the prefixes of this JobTracker, or close to a known key.
pub(super) fn mistyped_properties(properties: &[String]) -> Vec<String> {
    let remark = |property: &String| {
        let name = property.split_once('=').map_or(property.as_str(), |(name, _)| name).trim();
        let hint = unread_key(name)?.similar.map(|similar| format!("; did you mean {similar}?"));
        Some(format!("-D {name}: nothing reads this key{}", hint.unwrap_or_default()))
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
        assert_eq!(
            of("mapred.job.deadline=1"),
            ["-D mapred.job.deadline: nothing reads this key; did you mean mapred.job.deadline.ms?"]
        );
        assert_eq!(of("jobtracker.x=1"), ["-D jobtracker.x: nothing reads this key"]);
        for fine in ["mapred.reduce.tasks=3", "my.own.key=1", "mapred.queue.name=x", "io.sort.mb=10", "x"] {
            assert!(of(fine).is_empty(), "{fine}: {:?}", of(fine));
        }
        assert!(no_input(0).is_some() && no_input(1).is_none());
    }
}
