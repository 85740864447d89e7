//! A file of a job that is handed over before its submission: which job, which name, which content.

use crate::model::{JobId, from_hex};

const MAX_NAME_BYTES: usize = 1_024;
/// Longest component of a name, bytes: as file systems have it.
const MAX_COMPONENT_BYTES: usize = 255;
const MAX_COMPONENTS: usize = 8;
/// What names of files that are still being written begin with.
const RESERVED: &str = ".upload-";
const DIGEST_BYTES: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobUpload {
    pub(crate) job: JobId,
    /// The path of the file in the job's folder: plain names, separated by `/`.
    pub(crate) name: String,
    pub(crate) sha256: [u8; DIGEST_BYTES],
}

/// Whether a name stays in its folder, and is one that a file system has.
pub(super) fn is_plain_path(name: &str) -> bool {
    let is_plain = |part: &str| {
        !matches!(part, "" | "." | "..") && part.len() <= MAX_COMPONENT_BYTES && !part.starts_with(RESERVED)
    };
    name.len() <= MAX_NAME_BYTES
        && !name.contains(char::is_control)
        && name.split('/').count() <= MAX_COMPONENTS
        && name.split('/').all(is_plain)
}

pub(super) fn parse_digest(text: &str) -> Option<[u8; DIGEST_BYTES]> {
    from_hex(text)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::{Operation, ParsedQuery};

    fn parse(query: &str) -> Result<JobUpload, String> {
        let parsed = ParsedQuery::parse_upload(query).map_err(|error| error.to_string())?;
        match parsed.operation().map_err(|error| error.to_string())? {
            Operation::Upload(upload) => Ok(upload),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn names_stay_in_the_folder() {
        let parse =
            |name: &str| parse(&format!("job=job_7_0001&name={name}&sha256={}&user=a&timestamp=1", "0a".repeat(32)));
        for name in ["job.xml", "lib/a.jar", "%2Ehidden", "a%20b", "..a", "a/b/c/d/e/f/g/h"] {
            assert!(parse(name).is_ok(), "{name}");
        }
        let (long, longest) = ("x".repeat(256), format!("{0}/{0}/{0}/{0}/{0}", "x".repeat(255)));
        for name in [
            "",
            ".",
            "..",
            "/etc/passwd",
            "a/../b",
            "a//b",
            "a/",
            "%2e%2e/x",
            "a%00",
            "a%0Ab",
            ".upload-1",
            "lib/.upload-1",
            "a/b/c/d/e/f/g/h/i",
            &long,
            &longest,
        ] {
            let refused = parse(name).unwrap_err();
            assert!(refused.contains("expected a path below the job's folder"), "{name}: {refused}");
        }
    }

    #[test]
    fn digest_and_job_are_checked() {
        let refused = |query: &str| parse(query).unwrap_err();
        assert!(refused("job=job_7_0001&name=a").contains("expected job=JOB&name=NAME&sha256=HEX"));
        assert!(refused("job=job_7_0001&sha256=1").contains("needs a parameter name"));
        assert!(refused("job=x&name=a&sha256=1").contains("job: \"x\" is not the id of a job"));
        for digest in ["1", &"0g".repeat(32), &"00".repeat(33), ""] {
            assert!(refused(&format!("job=job_7_0001&name=a&sha256={digest}")).contains("64 hexadecimal"), "{digest}");
        }
        assert!(refused("job=job_7_0001&name=a&name=b&sha256=1").contains("given more than once"));
        let upload = parse(&format!("job=job_7_0001&name=a&sha256={}", "fF".repeat(32))).unwrap();
        assert_eq!(upload.sha256, [0xff; 32]);
    }
}
