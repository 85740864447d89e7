//! Whose requests about applications are taken, and how they are known.

use std::sync::Arc;

use crate::config::keys;
use crate::config::settings::ApplicationKeys;

use super::acl_file::{AclFile, AclFileError};

/// Whose requests about applications are taken.
#[derive(Clone, Debug, Default)]
pub(crate) enum ApplicationUsers {
    /// None: containers are switched off.
    #[default]
    Off,
    /// Of users who sign with a key of this file.
    Signed(Arc<AclFile>),
    /// Of users of this machine, over loopback.
    Loopback,
}

impl ApplicationUsers {
    /// As configured; `of_market`: the file of the market, where there is one.
    ///
    /// # Errors
    /// The file of keys cannot be read.
    pub(crate) fn open(keys: &ApplicationKeys, of_market: Option<&Arc<AclFile>>) -> Result<Self, AclFileError> {
        let path = match keys {
            ApplicationKeys::Off => return Ok(Self::Off),
            ApplicationKeys::Loopback => return Ok(Self::Loopback),
            ApplicationKeys::File(path) => path,
        };
        if let Some(acl) = of_market.filter(|acl| acl.path() == path) {
            return Ok(Self::Signed(acl.clone()));
        }
        let acl = AclFile::open_named_by(path.clone(), keys::CONTAINERS_ACL_FILE.name)?;
        Ok(Self::Signed(Arc::new(acl)))
    }

    /// What is wrong with the file; the last good list stays in force.
    pub(super) fn error(&self) -> Option<String> {
        match self {
            Self::Signed(acl) => acl.error(),
            Self::Off | Self::Loopback => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_key_that_names_the_file() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("applications.acl");
        let refused = |keys| ApplicationUsers::open(&keys, None).unwrap_err().to_string();
        let text = refused(ApplicationKeys::File(path.clone()));
        assert!(text.contains("applications.acl") && text.ends_with("(jobtracker.containers.acl-file)"), "{text}");
        let of_market = AclFile::open(path).unwrap_err().to_string();
        assert!(of_market.ends_with("(mapred.priority-scheduler.acl-file)"), "{of_market}");
    }
}
