//! Directories of the daemon.

use std::path::{Path, PathBuf};

use crate::config::configuration::Configuration;
use crate::config::error::{ConfigError, Warning};
use crate::config::keys;
use crate::fs::FileUri;

/// The directory in each local dir that the Java daemon deletes at start (1.2.1 `JobTracker.SUBDIR`).
const WIPED: &str = "jobTracker";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directories {
    /// System directory, with job tokens: `<this>/<job id>/jobToken`.
    pub(crate) system: FileUri,
    /// Root of the users' staging directories: `<this>/<user>/.staging`.
    pub(crate) staging_root: FileUri,
    pub(crate) state: PathBuf,
}

impl Directories {
    pub(super) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        // Other values contain or presuppose it.
        configuration.required_local_path(&keys::HADOOP_TMP_DIR)?;
        let local = configuration.local_paths(&keys::LOCAL_DIR)?;
        let state = configuration.required_local_path(&keys::STATE_DIR)?;
        if let Some(wiped) = local.iter().map(|dir| dir.join(WIPED)).find(|wiped| state.starts_with(wiped)) {
            let expected =
                format!("a folder outside {}, which a Java JobTracker deletes at its start", wiped.display());
            return Err(configuration.required(&keys::STATE_DIR)?.bad_value(expected));
        }
        let default = configuration.required(&keys::DEFAULT_FILE_SYSTEM)?;
        FileUri::of_default(default.value.trim())
            .map_err(|_| default.bad_value(keys::DEFAULT_FILE_SYSTEM.kind.to_string()))?;
        configuration.check_hdfs()?;
        Ok(Directories {
            system: configuration.file_uri(&keys::SYSTEM_DIR)?,
            staging_root: configuration.file_uri(&keys::STAGING_ROOT_DIR)?,
            state,
        })
    }

    /// The staging directory of a user. Errors: the user's name cannot be a file name.
    pub(crate) fn staging_area(&self, user: &str) -> Result<FileUri, crate::fs::FileUriError> {
        self.staging_root.join(user)?.join(".staging")
    }

    pub(super) fn warning(&self, configuration: &Configuration) -> Result<Option<Warning>, ConfigError> {
        let temporary = ["/tmp", "/var/tmp"].iter().any(|folder| self.state.starts_with(Path::new(folder)));
        let origin = configuration.required(&keys::STATE_DIR)?.origin;
        Ok(temporary.then(|| Warning::StateUnderTemporary { folder: self.state.clone(), origin }))
    }
}
