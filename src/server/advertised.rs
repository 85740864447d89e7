//! Versions and directories that trackers and clients query; fixed at the start.

use crate::config::Settings;
use crate::config::settings::Directories;
use crate::ipc::RemoteError;
use crate::wire::protocol::Value;

#[derive(Clone, Debug)]
pub(crate) struct Advertised {
    version: String,
    build_version: String,
    system_dir: String,
    directories: Directories,
}

impl Advertised {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            version: settings.version.clone(),
            build_version: settings.build_version.clone(),
            system_dir: settings.directories.system.to_string(),
            directories: settings.directories.clone(),
        }
    }

    /// The release, for `getVIVersion`.
    pub(crate) fn version(&self) -> Value {
        Value::String(Some(self.version.clone()))
    }

    /// The build, which a stock tracker compares byte for byte with its own.
    pub(crate) fn build_version(&self) -> Value {
        Value::String(Some(self.build_version.clone()))
    }

    /// The file system of the system directory. All local files are one file system: unlike a path its URI prints with three slashes.
    pub(crate) fn file_system(&self) -> Value {
        let text = match self.directories.system.namenode() {
            None => "file:///".to_owned(),
            Some(address) => format!("hdfs://{address}"),
        };
        Value::String(Some(text))
    }

    /// Where trackers find job tokens, for example `file:/hadoop/mapred/system`.
    pub(crate) fn system_dir(&self) -> Value {
        Value::String(Some(self.system_dir.clone()))
    }

    /// Where that user's clients stage their jobs. Fails for names that are no plain name.
    pub(crate) fn staging_area(&self, user: &str) -> Result<Value, RemoteError> {
        match self.directories.staging_area(user) {
            Ok(directory) => Ok(Value::String(Some(directory.to_string()))),
            Err(error) => Err(RemoteError::io(format_args!("no staging directory for user `{user}`: {error}"))),
        }
    }
}
