//! Errors that TaskTrackers report of themselves; the last of a tracker whose build is another one says which.

use crate::wire::limits::{TRACKER_ERROR_BYTES, cut, excerpt};

/// How the report begins of a tracker that stops since its version or build is another one than the JobTracker's (all lines of
/// Hadoop 1).
const INCOMPATIBLE: &str = "Shutting down. Incompatible ";

pub(super) fn tracker_error_line(tracker: &str, class: Option<&str>, message: &str) -> String {
    let [class, text] = [class.unwrap_or("no class"), message].map(|text| cut(text, TRACKER_ERROR_BYTES));
    let advice = advice(message).unwrap_or_default();
    format!("{} reports {class}: {text}{advice}", excerpt(tracker))
}

/// How to admit a tracker of another build.
fn advice(message: &str) -> Option<String> {
    let rest = message.strip_prefix(INCOMPATIBLE)?;
    let builds = [("TaskTracker version '", "' and build '", "' and JobTracker"), ("", "TaskTracker's: ", "\n")];
    let build = builds.into_iter().find_map(|(begin, before, after)| {
        let build = rest.split_once(begin)?.1.split_once(before)?.1;
        Some(build.split_once(after).map_or(build, |(build, _)| build).trim())
    })?;
    let build = cut(build, TRACKER_ERROR_BYTES);
    let version = build.split_whitespace().next()?;
    Some(format!(
        "; this TaskTracker is of another build and has stopped: to admit its like, set jobtracker.version = {version} and \
         jobtracker.build-version = {build}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_tracker_of_another_build_has_both_builds_and_the_keys_that_admit_it() {
        let of_1_2 = "Shutting down. Incompatible version or build version.TaskTracker version '1.1.2' and build '1.1.2 from \
            1440782 by hortonfo source checksum c720' and JobTracker version '1.2.1' and build '1.2.1 from 1503152 by mattf \
            source checksum 6923 and hadoop.relaxed.worker.version.check is not enabled";
        let line = tracker_error_line("tracker_h", None, of_1_2);
        assert!(line.contains("'1.2.1 from 1503152 by mattf source checksum 6923"), "{line}");
        let advice = "set jobtracker.version = 1.1.2 and jobtracker.build-version = 1.1.2 from 1440782 by hortonfo source \
            checksum c720";
        assert!(line.ends_with(advice), "{line}");
        let of_1_0 = "Shutting down. Incompatible buildVersion.\nJobTracker's: 1.2.1 from a by b source checksum c\n\
            TaskTracker's: 1.0.4 from 1393290 by hortonfo source checksum fe2b";
        assert!(
            tracker_error_line("t", None, of_1_0)
                .ends_with("build-version = 1.0.4 from 1393290 by hortonfo source checksum fe2b")
        );
        assert_eq!(tracker_error_line("t", Some("java.io.IOException"), "disk"), "t reports java.io.IOException: disk");
        for hostile in
            ["Shutting down. Incompatible ", "Shutting down. Incompatible TaskTracker's: ", &"x".repeat(5_000)]
        {
            assert!(!tracker_error_line("t", None, hostile).contains("set jobtracker"));
        }
    }
}
