//! Whose requests about applications are taken, and how they are known.

use std::fmt;
use std::sync::Arc;

use crate::config::Settings;
use crate::config::keys;

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

// === impl ApplicationUsers ===

impl ApplicationUsers {
    /// As configured; `of_market`: the file of the market, where there is one.
    ///
    /// # Errors
    /// The file of keys cannot be read.
    pub(crate) fn open(settings: &Settings, of_market: Option<&Arc<AclFile>>) -> Result<Self, AclFileError> {
        if !settings.containers.is_enabled {
            return Ok(Self::Off);
        }
        let acl = match &settings.containers.acl_file {
            None => of_market.cloned(),
            Some(path) => match of_market.filter(|acl| acl.path() == path) {
                Some(acl) => Some(acl.clone()),
                None => {
                    let acl = AclFile::open(path.clone())?;
                    acl.warn_of_others();
                    Some(Arc::new(acl))
                }
            },
        };
        Ok(acl.map_or(Self::Loopback, Self::Signed))
    }
}

/// For a line at the start.
impl fmt::Display for ApplicationUsers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => write!(out, "off ({})", keys::CONTAINERS_ENABLED.name),
            Self::Signed(acl) => write!(out, "for applications of the users in {}, who sign", acl.path().display()),
            Self::Loopback => write!(
                out,
                "for applications of this machine's users over loopback alone; a file of keys ({}) admits others",
                keys::CONTAINERS_ACL_FILE.name
            ),
        }
    }
}
