//! Which ACL file the `user` commands read and edit.

use std::path::PathBuf;

use crate::cli::serve::ConfigurationArguments;
use crate::config::ConfigError;

/// Which ACL file, and how to answer.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AclFileArguments {
    /// The ACL file; default: the one that the daemon of this configuration reads, mapred.priority-scheduler.acl-file or, without a
    /// market, jobtracker.containers.acl-file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["conf", "define"])]
    acl_file: Option<PathBuf>,
    /// The daemon's configuration, which names the ACL file.
    #[command(flatten)]
    pub(super) configuration: ConfigurationArguments,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl AclFileArguments {
    /// Where it is.
    ///
    /// # Errors
    /// The configuration cannot be read, or names none.
    pub(super) fn path(&self) -> Result<PathBuf, ConfigError> {
        match &self.acl_file {
            Some(path) => Ok(path.clone()),
            None => self.configuration.load_options().acl_file(),
        }
    }
}
