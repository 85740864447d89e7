//! User and key: the options of every signed command.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Once;

use crate::config::environment::Environment;
use crate::fs::access_of_others;
use crate::market::{Key, KeyFault};

use super::exit_code::{DENIED, HasExitCode, WRONG_USAGE};
use super::place::{HEADING, UserConfig, UserConfigError};
use super::terminal::print_error;

/// Default key file below the home directory, from the Dynamic Priority Scheduler document.
pub(crate) const KEY_FILE: &str = ".ssh/hadoop_key";

/// User and key of signed commands.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SignerArguments {
    /// Who asks and signs; default: user of ~/.config/jobtracker/config.toml, else your login name
    #[arg(id = "signed_as", long = "as", value_name = "NAME", help_heading = HEADING)]
    pub(crate) user: Option<String>,
    /// File with the secret key; default: the text in $HADOOP_KEY, else key-file of ~/.config/jobtracker/config.toml, else
    /// ~/.ssh/hadoop_key
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub(crate) key_file: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SignerError {
    #[error("the login name is unknown: give --as NAME")]
    NoUser,
    #[error("no key: give --key-file, or set HADOOP_KEY or HOME")]
    NoKey,
    #[error("{0}")]
    UserConfig(#[from] UserConfigError),
    #[error("no key in --key-file, $HADOOP_KEY or {0}")]
    NowhereFound(PathBuf),
    #[error("cannot read the key in {path}: {source}")]
    KeyFile { path: PathBuf, source: std::io::Error },
    #[error("the key in {place} {fault}")]
    BadKey { place: String, fault: KeyFault },
}

/// Where a key comes from.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum KeySource {
    File(PathBuf),
    /// The text of `$HADOOP_KEY`.
    Environment(String),
}

impl HasExitCode for SignerError {
    /// The exit code of this process: without a key a request is denied as one is whose signature is missing; what an option
    /// names must be right.
    fn exit_code(&self) -> u8 {
        match self {
            Self::NoKey | Self::NowhereFound(_) => DENIED,
            Self::NoUser | Self::UserConfig(_) | Self::KeyFile { .. } | Self::BadKey { .. } => WRONG_USAGE,
        }
    }
}

impl SignerError {
    /// Whether there is a text where a key is looked for that can be none: signing with it, or going on without, ends in a denial.
    pub(crate) fn is_bad_key(&self) -> bool {
        matches!(self, Self::BadKey { fault, .. } if *fault != KeyFault::Empty)
    }
}

impl SignerArguments {
    /// The user's name: `--as`, else as in the user's own file, else the login name of this process.
    pub(crate) fn user(&self) -> Result<String, SignerError> {
        let named = match &self.user {
            Some(user) => Some(user.clone()),
            None => UserConfig::of_process()?.user,
        };
        let login = || Environment::of_process().properties.remove("user.name");
        named.or_else(login).filter(|name| !name.is_empty()).ok_or(SignerError::NoUser)
    }

    /// The key file that an option or the user's own file names: it must exist.
    pub(crate) fn named_key_file(&self) -> Result<Option<PathBuf>, SignerError> {
        match &self.key_file {
            Some(path) => Ok(Some(path.clone())),
            None if std::env::var_os("HADOOP_KEY").is_some() => Ok(None),
            None => Ok(UserConfig::of_process()?.key_file),
        }
    }

    /// The key, without blanks around it as the document's client reads it. Errors: all but [`SignerError::NoUser`].
    pub(crate) fn key(&self) -> Result<Key, SignerError> {
        let source = self.key_source()?;
        let bytes = match &source {
            KeySource::File(path) => match read(path.clone()) {
                Err(SignerError::KeyFile { path, source })
                    if source.kind() == ErrorKind::NotFound && self.named_key_file()?.is_none() =>
                {
                    return Err(SignerError::NowhereFound(path));
                }
                bytes => bytes?,
            },
            KeySource::Environment(text) => text.as_bytes().to_vec(),
        };
        let key = Key::alone_in(&bytes).map_err(|fault| SignerError::BadKey { place: source.to_string(), fault })?;
        warn_of_quotes(&key, &source);
        Ok(key)
    }

    /// Where the key is looked for.
    pub(crate) fn key_source(&self) -> Result<KeySource, SignerError> {
        match (self.named_key_file()?, std::env::var("HADOOP_KEY")) {
            (Some(path), _) => Ok(KeySource::File(path)),
            (None, Ok(text)) => Ok(KeySource::Environment(text)),
            (None, Err(_)) => {
                let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).ok_or(SignerError::NoKey)?;
                Ok(KeySource::File(PathBuf::from(home).join(KEY_FILE)))
            }
        }
    }
}

/// Never shows the key.
impl fmt::Display for KeySource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(formatter),
            Self::Environment(_) => formatter.write_str("$HADOOP_KEY"),
        }
    }
}

/// A command may read the key twice.
fn warn_of_quotes(key: &Key, source: &KeySource) {
    static WARNED: Once = Once::new();
    if key.is_quoted() {
        WARNED.call_once(|| {
            print_error(&format!(
                "jobtracker: warning: the key in {source} is in quotes, which count as part of it: write it without them unless the ACL file has them too"
            ));
        });
    }
}

fn read(path: PathBuf) -> Result<Vec<u8>, SignerError> {
    read_key(&path).map_err(|source| SignerError::KeyFile { path, source })
}

fn read_key(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    if let Some(access) = access_of_others(&file.metadata()?) {
        // A command may read the key twice.
        static WARNED: Once = Once::new();
        let path = path.display();
        WARNED.call_once(|| {
            print_error(&format!(
                "jobtracker: warning: the key file {path} is {access} for others, who can sign with it: run chmod 600 {path}"
            ));
        });
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
