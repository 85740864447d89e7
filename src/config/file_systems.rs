//! The file systems that a configuration describes.

use crate::fs::FileSystems;

use super::configuration::Configuration;

impl Configuration {
    /// All file systems, as this user, reached by the values of this configuration.
    #[must_use]
    pub fn file_systems(&self, user: &str) -> FileSystems {
        FileSystems::new(user)
    }
}
