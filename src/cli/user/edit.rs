//! Which ACL file the `user` commands read and edit, and edits of it and of the file of old keys beside it, under one lock: that of the ACL file.

use std::path::{Path, PathBuf};

use crate::cli::exit_code::Failure;
use crate::cli::serve::ConfigurationArguments;
use crate::config::ConfigError;
use crate::fs::{FsError, LockedFile, replace_file};
use crate::lifecycle::retiring_path;
use crate::market::{Acl, AclEditError, AclText, RetiringKey, Role};

pub(super) struct Edit {
    acl: LockedFile,
    /// Whether it did not exist before.
    pub(super) is_new: bool,
}

impl Edit {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self { acl: LockedFile::open(path)?, is_new: false })
    }

    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let (acl, is_new) = LockedFile::open_or_create(path)?;
        Ok(Self { acl, is_new })
    }

    pub(super) fn path(&self) -> &Path {
        self.acl.path()
    }

    pub(super) fn acl(&self) -> Result<Acl, Failure> {
        self.edit(|text| Ok(Acl::parse(text.text, text.file).map_err(AclEditError::from)?))
    }

    /// Refuses what [`Self::add`] would, and changes nothing.
    pub(super) fn check_addition(&self, user: &str, role: Role) -> Result<(), Failure> {
        self.with_user(user, role, "key").map(drop)
    }

    fn with_user(&self, user: &str, role: Role, key: &str) -> Result<String, Failure> {
        self.edit(|text| Ok(text.with_user(user, role, key)?)).inspect_err(|_| {
            if self.is_new {
                // A file that stays nonetheless is empty.
                let _ = std::fs::remove_file(self.path());
            }
        })
    }

    pub(super) fn add(&self, user: &str, role: Role, key: &str) -> Result<(), Failure> {
        let with = self.with_user(user, role, key)?;
        // A user of this name may have been there before.
        self.keep_old_keys(|old| old.user != user)?;
        Ok(self.acl.replace(&with)?)
    }

    /// Returns the role that the user had, and the number of administrators that are left.
    pub(super) fn remove(&self, user: &str) -> Result<(Role, usize), Failure> {
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
    ) -> Result<Role, Failure> {
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

    fn edit<T>(&self, edit: impl FnOnce(AclText<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let text = self.acl.text()?;
        edit(AclText { text: &text, file: &self.path().display().to_string() })
    }

    fn retiring_path(&self) -> PathBuf {
        retiring_path(self.path())
    }

    /// The keys that are valid beside those of the file for a while.
    pub(super) fn old_keys(&self) -> Result<Vec<RetiringKey>, Failure> {
        let path = self.retiring_path();
        let text = match LockedFile::open(&path) {
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            file => file?.text()?,
        };
        let (keys, errors) = RetiringKey::parse_all(&text, &path.display().to_string());
        errors
            .into_iter()
            .next()
            .map_or(Ok(keys), |error| Err(Failure::usage(format_args!("{error}; repair the file first"))))
    }

    fn keep_old_keys(&self, keep: impl Fn(&RetiringKey) -> bool) -> Result<(), Failure> {
        let mut keys = self.old_keys()?;
        let before = keys.len();
        keys.retain(keep);
        if keys.len() < before { self.write_old_keys(&keys) } else { Ok(()) }
    }

    /// Who reads the ACL file reads this, too: mode and owner are the same.
    fn write_old_keys(&self, keys: &[RetiringKey]) -> Result<(), Failure> {
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
