//! `~/.config/jobtracker/config.toml`: a user's own server and key.

use std::io;
use std::path::{Path, PathBuf};

use crate::fs::LocalFileSystem;

/// The file below the home directory.
const FILE: &str = ".config/jobtracker/config.toml";
const MAX_BYTES: u64 = 64 << 10;

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct UserConfig {
    /// HTTP address.
    pub(crate) server: Option<String>,
    /// RPC address.
    pub(crate) jobtracker: Option<String>,
    /// Who signs.
    pub(crate) user: Option<String>,
    /// File with the secret key; a relative path begins at the folder of this file.
    pub(crate) key_file: Option<PathBuf>,
    /// The file.
    #[serde(skip)]
    pub(crate) path: PathBuf,
}

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}; expected lines such as server = \"master:50030\", with server, jobtracker, user or key-file", path.display())]
pub(crate) struct UserConfigError {
    path: PathBuf,
    reason: String,
}

impl UserConfig {
    /// Reads the file of this process's user; without one everything is left open.
    pub(crate) fn of_process() -> Result<Self, UserConfigError> {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
        home.map_or_else(|| Ok(Self::default()), |home| Self::in_home(Path::new(&home)))
    }

    /// Reads the file below a home directory.
    pub(super) fn in_home(home: &Path) -> Result<Self, UserConfigError> {
        let path = home.join(FILE);
        let failed = |reason: String| UserConfigError { path: path.clone(), reason };
        let bytes = match LocalFileSystem.read_limited(&path, MAX_BYTES).map_err(io::Error::from) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Self::default());
            }
            bytes => bytes.map_err(|error| failed(error.to_string()))?,
        };
        let text = String::from_utf8(bytes).map_err(|error| failed(error.to_string()))?;
        let mut config: Self = toml::from_str(&text).map_err(|error| failed(place_of(&error, &text)))?;
        config.key_file = config.key_file.map(|file| match file.strip_prefix("~") {
            Ok(below) => home.join(below),
            Err(_) => path.parent().unwrap_or(home).join(&file),
        });
        Ok(Self { path, ..config })
    }
}

/// The line that cannot be read, and why.
fn place_of(error: &toml::de::Error, text: &str) -> String {
    let reason = error.message().trim().replace('\n', " ");
    let before = error.span().and_then(|span| text.get(..span.start));
    before.map_or_else(|| reason.clone(), |before| format!("line {}: {reason}", before.matches('\n').count() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<UserConfig, String> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(FILE);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let shown = |text: String| text.replace(&home.path().display().to_string(), "HOME");
        let config = UserConfig::in_home(home.path()).map_err(|error| shown(error.to_string()))?;
        let key_file = config.key_file.map(|file| PathBuf::from(shown(file.display().to_string())));
        Ok(UserConfig { key_file, path: PathBuf::new(), ..config })
    }

    #[test]
    fn a_file_names_server_user_and_key() {
        let text =
            "# mine\nserver = \"master:50030\"\njobtracker = 'master:8021'\nuser = \"alice\"\nkey-file = \"~/k\"\n";
        let expected = UserConfig {
            server: Some("master:50030".to_owned()),
            jobtracker: Some("master:8021".to_owned()),
            user: Some("alice".to_owned()),
            key_file: Some("HOME/k".into()),
            path: PathBuf::new(),
        };
        assert_eq!(read_text(text), Ok(expected));
        assert_eq!(read_text("key-file = 'k'").unwrap().key_file, Some("HOME/.config/jobtracker/k".into()));
        assert_eq!(read_text("key-file = '/k'").unwrap().key_file, Some("/k".into()));
        assert_eq!(UserConfig::in_home(Path::new("/nowhere/at/all")).unwrap(), UserConfig::default());
    }

    #[test]
    fn a_slip_is_named_with_its_line() {
        for (text, expected) in [
            ("user = 'a'\nsevrer = 'b:1'\n", "config.toml: line 2: unknown field `sevrer`"),
            ("server = master\n", "config.toml: line 1: "),
            ("server = 5\n", "config.toml: line 1: invalid type"),
        ] {
            let error = read_text(text).unwrap_err();
            assert!(error.starts_with("HOME/.config/jobtracker/") && error.contains(expected), "{error}");
        }
    }
}
