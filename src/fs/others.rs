//! What users that are neither owner nor in the group of a file may do with it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// What others may do with a regular file: read it, write to it; none where neither, or where it is something else.
pub(crate) fn access_of_others(metadata: &Metadata) -> Option<&'static str> {
    const READ: u32 = 0o004;
    const WRITE: u32 = 0o002;
    match (metadata.is_file(), metadata.mode() & (READ | WRITE)) {
        (false, _) => None,
        (true, READ) => Some("readable"),
        (true, WRITE) => Some("writable"),
        (true, 0) => None,
        (true, _) => Some("readable and writable"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_the_last_three_bits_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "k").unwrap();
        let access = |mode| {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            access_of_others(&std::fs::metadata(&path).unwrap())
        };
        assert_eq!([0o600, 0o640, 0o670, 0o601].map(access), [None; 4]);
        assert_eq!(
            [0o644, 0o602, 0o666].map(access),
            [Some("readable"), Some("writable"), Some("readable and writable")]
        );
        assert_eq!(access_of_others(&std::fs::metadata(folder.path()).unwrap()), None);
    }
}
