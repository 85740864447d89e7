//! Who signs, and with which key: the options that every signed command takes.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Once;

use super::terminal::print_error;
use crate::config::environment::Environment;
use crate::fs::access_of_others;
use crate::market::Key;

/// Where the key lies when nothing else is said, below the home folder: the Dynamic Priority Scheduler document's place.
const KEY_FILE: &str = ".ssh/hadoop_key";

/// Who signs, and with which key.
#[derive(Clone, Debug, clap::Args)]
pub struct SignerArguments {
    /// The user who signs; default: the one who runs this
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// File with the secret key; default: the text in $HADOOP_KEY, else ~/.ssh/hadoop_key
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

/// Why nobody can sign.
#[derive(Debug, thiserror::Error)]
pub enum SignerError {
    /// The system does not know who runs this.
    #[error("the user's name is not known: give --user")]
    NoUser,
    /// There is no place to look for a key.
    #[error("no key: give --key-file, or set HADOOP_KEY or HOME")]
    NoKey,
    /// The key cannot be read.
    #[error("cannot read the key in {path}: {source}")]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is nothing in it.
    #[error("the key in {0} is empty")]
    EmptyKey(String),
}

// === impl SignerArguments ===

impl SignerArguments {
    /// The user's name: `--user`, else the login name of this process.
    ///
    /// # Errors
    /// [`SignerError::NoUser`]
    pub fn user(&self) -> Result<String, SignerError> {
        let named = || Environment::of_process().properties.remove("user.name");
        self.user.clone().or_else(named).filter(|name| !name.is_empty()).ok_or(SignerError::NoUser)
    }

    /// The key, without blanks around it as the document's client reads it.
    ///
    /// # Errors
    /// All but [`SignerError::NoUser`]
    pub fn key(&self) -> Result<Key, SignerError> {
        let (text, from) = match (&self.key_file, std::env::var("HADOOP_KEY")) {
            (Some(path), _) => (read(path.clone())?, path.display().to_string()),
            (None, Ok(text)) => (text, "$HADOOP_KEY".to_owned()),
            (None, Err(_)) => {
                let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).ok_or(SignerError::NoKey)?;
                let path = PathBuf::from(home).join(KEY_FILE);
                (read(path.clone())?, path.display().to_string())
            }
        };
        match text.trim() {
            "" => Err(SignerError::EmptyKey(from)),
            key => Ok(Key::new(key)),
        }
    }
}

fn read(path: PathBuf) -> Result<String, SignerError> {
    read_key(&path).map_err(|source| SignerError::KeyFile { path, source })
}

fn read_key(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    if let Some(access) = access_of_others(&file.metadata()?) {
        // A command may need the key twice.
        static TOLD: Once = Once::new();
        let path = path.display();
        TOLD.call_once(|| {
            print_error(&format!(
                "jobtracker: warning: the key file {path} is {access} for others, who could sign with its key: chmod 600 {path}"
            ));
        });
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}
