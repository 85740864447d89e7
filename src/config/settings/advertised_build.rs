//! The version and build that TaskTrackers compare with their own, and stop where they differ.

use crate::config::configuration::Configuration;
use crate::config::error::{ConfigError, Origin};
use crate::config::keys;

/// The version and the build reported to trackers.
pub(super) fn version_and_build(configuration: &Configuration) -> Result<(String, String), ConfigError> {
    let (version, build) = (configuration.required(&keys::VERSION)?, configuration.required(&keys::BUILD_VERSION)?);
    let of_build = build.value.split_whitespace().next().unwrap_or_default();
    if of_build == version.value.trim() {
        return Ok((version.value.trim().to_owned(), build.value));
    }
    // The value that is written is the mistake.
    let (culprit, expected) = match version.origin {
        Origin::Default => {
            (&build, format!("a build of jobtracker.version = {:?} ({})", version.value, version.origin))
        }
        _ => (&version, format!("{of_build:?}, with which jobtracker.build-version ({}) begins", build.origin)),
    };
    Err(culprit.bad_value(format!("{expected}; for trackers of another build set both keys as their log prints them")))
}

#[cfg(test)]
mod tests {
    use crate::config::settings::test_options;

    use super::*;

    #[test]
    fn a_version_and_a_build_that_contradict_each_other_are_an_error() {
        let of = |overrides: &[&str]| {
            version_and_build(&test_options(None, overrides).configuration().unwrap())
                .map_err(|error| error.to_string())
        };
        assert!(of(&[]).is_ok());
        let build =
            "jobtracker.build-version=1.1.2 from 1440782 by hortonfo source checksum c720ddcf4b926991de7467d253a79b8b";
        assert_eq!(of(&["jobtracker.version=1.1.2", build]).unwrap().0, "1.1.2");
        let refused = [&["jobtracker.version=1.1.2"][..], &[build], &["jobtracker.version=1.2.1", build]];
        insta::assert_snapshot!(refused.map(|case| of(case).unwrap_err()).join("\n"), @r#"
        -D: jobtracker.version = "1.1.2": expected "1.2.1", with which jobtracker.build-version (default) begins; for trackers of another build set both keys as their log prints them
        -D: jobtracker.build-version = "1.1.2 from 1440782 by hortonfo source checksum c720ddcf4b926991de7467d253a79b8b": expected a build of jobtracker.version = "1.2.1" (default); for trackers of another build set both keys as their log prints them
        -D: jobtracker.version = "1.2.1": expected "1.1.2", with which jobtracker.build-version (-D) begins; for trackers of another build set both keys as their log prints them
        "#);
        assert!(
            of(&["jobtracker.version=banana"]).unwrap_err().contains("expected a version of Hadoop, such as 1.2.1")
        );
    }
}
