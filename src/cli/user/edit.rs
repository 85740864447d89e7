//! Which ACL file the `user` commands read and edit, why they cannot, and edits of it and of the file of old keys beside it, under one lock: that of the ACL file.

use std::path::{Path, PathBuf};

use crate::cli::exit_code::{HasExitCode, WRONG_USAGE};
use crate::cli::market_command::MarketCommandError;
use crate::cli::serve::ConfigurationArguments;
use crate::config::ConfigError;
use crate::fs::{FsError, LockedFile, replace_file};
use crate::lifecycle::retiring_path;
use crate::market::{Acl, AclEditError, AclError, AclText, RetiringKey, Role};

pub(super) struct Edit {
    acl: LockedFile,
    /// Whether it did not exist before.
    pub(super) is_new: bool,
}

impl Edit {
    pub(super) fn open(path: &Path) -> Result<Self, UserFailure> {
        Ok(Self { acl: LockedFile::open(path)?, is_new: false })
    }

    pub(super) fn create(path: &Path) -> Result<Self, UserFailure> {
        let (acl, is_new) = LockedFile::open_or_create(path)?;
        Ok(Self { acl, is_new })
    }

    pub(super) fn path(&self) -> &Path {
        self.acl.path()
    }

    pub(super) fn acl(&self) -> Result<Acl, UserFailure> {
        self.edit(|text| Ok(Acl::parse(text.text, text.file).map_err(AclEditError::from)?))
    }

    /// Refuses what [`Self::add`] would, and changes nothing.
    pub(super) fn check_addition(&self, user: &str, role: Role) -> Result<(), UserFailure> {
        self.with_user(user, role, "key").map(drop)
    }

    fn with_user(&self, user: &str, role: Role, key: &str) -> Result<String, UserFailure> {
        self.edit(|text| Ok(text.with_user(user, role, key)?)).inspect_err(|_| {
            if self.is_new {
                // A file that stays nonetheless is empty.
                let _ = std::fs::remove_file(self.path());
            }
        })
    }

    pub(super) fn add(&self, user: &str, role: Role, key: &str) -> Result<(), UserFailure> {
        let with = self.with_user(user, role, key)?;
        // A user of this name may have been there before.
        self.keep_old_keys(|old| old.user != user)?;
        self.acl.replace(&with).map_err(UserFailure::from)
    }

    /// Returns the role that the user had, and the number of administrators that are left.
    pub(super) fn remove(&self, user: &str) -> Result<(Role, usize), UserFailure> {
        let (without, role) = self.edit(|text| Ok(text.without_user(user)?))?;
        self.acl.replace(&without)?;
        self.keep_old_keys(|old| old.user != user)?;
        Ok((role, Acl::parse_all(&without, "").0.admins()))
    }

    /// Gives the user another key. The old one stays valid until that time, with earlier ones until theirs; without a time
    /// none of them does. Returns the user's role.
    pub(super) fn rotate(
        &self,
        user: &str,
        key: &str,
        old_until_ms: Option<i64>,
        now_ms: i64,
    ) -> Result<Role, UserFailure> {
        let ((with, old), role) = self.edit(|text| {
            let role = Acl::parse(text.text, text.file).ok().and_then(|acl| acl.get(user).map(|entry| entry.role));
            Ok((text.with_key(user, key)?, role.unwrap_or(Role::User)))
        })?;
        match old_until_ms {
            // First, so that at each moment one of the files has the old key.
            Some(until_ms) => {
                let mut keys = self.old_keys()?;
                keys.retain(|key| now_ms < key.until_ms);
                keys.push(RetiringKey { user: user.to_owned(), until_ms, key: old });
                self.write_old_keys(&keys)?;
            }
            None => self.keep_old_keys(|old| old.user != user)?,
        }
        self.acl.replace(&with)?;
        Ok(role)
    }

    fn edit<T>(&self, edit: impl FnOnce(AclText<'_>) -> Result<T, UserFailure>) -> Result<T, UserFailure> {
        let text = self.acl.text()?;
        edit(AclText { text: &text, file: &self.path().display().to_string() })
    }

    fn retiring_path(&self) -> PathBuf {
        retiring_path(self.path())
    }

    /// The keys that are valid beside those of the file for a while.
    pub(super) fn old_keys(&self) -> Result<Vec<RetiringKey>, UserFailure> {
        let path = self.retiring_path();
        let text = match LockedFile::open(&path) {
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            file => file?.text()?,
        };
        let (keys, errors) = RetiringKey::parse_all(&text, &path.display().to_string());
        errors.into_iter().next().map_or(Ok(keys), |error| Err(UserFailure::OldKeys(error)))
    }

    fn keep_old_keys(&self, keep: impl Fn(&RetiringKey) -> bool) -> Result<(), UserFailure> {
        let mut keys = self.old_keys()?;
        let before = keys.len();
        keys.retain(keep);
        if keys.len() < before { self.write_old_keys(&keys) } else { Ok(()) }
    }

    /// Who reads the ACL file reads this, too: mode and owner are the same.
    fn write_old_keys(&self, keys: &[RetiringKey]) -> Result<(), UserFailure> {
        let path = self.retiring_path();
        if keys.is_empty() {
            return std::fs::remove_file(&path).map_err(|source| {
                let expected = "a folder that this user may write";
                FsError::Refused { action: "remove", path, expected, source }.into()
            });
        }
        let lines = keys.iter().map(|old| format!("{} {} {}\n", old.user, old.until_ms, old.key.secret()));
        let text = format!("# old keys that stay valid until a time, ms since 1970\n{}", lines.collect::<String>());
        Ok(replace_file(&path, &text, self.acl.access()?)?)
    }
}

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
    /// Where it is. Errors: the configuration cannot be read, or names none.
    pub(super) fn path(&self) -> Result<PathBuf, ConfigError> {
        match &self.acl_file {
            Some(path) => Ok(path.clone()),
            None => self.configuration.load_options().acl_file(),
        }
    }
}

/// Why a user cannot be changed; the ACL file is as before.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UserFailure {
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("{0}")]
    File(#[from] FsError),
    #[error("{0}")]
    Edit(#[from] AclEditError),
    #[error("{0}; repair the file first")]
    OldKeys(AclError),
    #[error("{name} is not added, since {by} could not send {query}: {source}")]
    Queue {
        /// The new user.
        name: String,
        by: String,
        query: String,
        /// Why not.
        source: Box<MarketCommandError>,
    },
    #[error("{0}")]
    Argument(Box<MarketCommandError>),
    #[error("{user} is no administrator in {}: give one of its administrators by --as", file.display())]
    NotAdministrator {
        /// Who would add it.
        user: String,
        file: PathBuf,
    },
    #[error("no key can be made: {0}")]
    NoRandomness(getrandom::Error),
}

impl From<MarketCommandError> for UserFailure {
    fn from(error: MarketCommandError) -> Self {
        Self::Argument(Box::new(error))
    }
}

impl HasExitCode for UserFailure {
    /// The exit code: 2 for wrong usage or configuration and refused edits, 1 for any other failure.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Edit(_) | Self::OldKeys(_) | Self::NotAdministrator { .. } => WRONG_USAGE,
            Self::Queue { source, .. } | Self::Argument(source) => source.exit_code(),
            Self::File(_) | Self::NoRandomness(_) => 1,
        }
    }
}
