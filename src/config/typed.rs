//! Typed access: a value of the wrong kind is an error with its place and what was expected.

use std::path::PathBuf;
use std::time::Duration;

use crate::fs::{FileUri, FileUriError};
use crate::hdfs::NO_TIME_LIMIT;
use crate::model::PartsPerMillion;

use super::configuration::{Configuration, Setting};
use super::error::{ConfigError, NamedValue};
use super::host_port::HostPort;
use super::keys;
use super::keys::Key;

/// `sun_path` of unix(7) has 108 bytes, the last one 0: no client could name a longer one.
const MOST_SOCKET_PATH_BYTES: usize = 107;
/// The socket is opened by the name `/proc/self/fd/NUMBER/NAME`.
const MOST_SOCKET_NAME_BYTES: usize = 80;

impl Setting {
    #[must_use]
    pub(crate) fn bad_value(&self, expected: impl Into<String>) -> ConfigError {
        let NamedValue { key, origin, value } = self.culprit();
        ConfigError::BadValue { key, origin, value, expected: expected.into() }
    }

    /// What a person has to change: this value, or the one that its default is made of.
    #[must_use]
    pub(crate) fn culprit(&self) -> NamedValue {
        let own = || NamedValue { key: self.name.clone(), origin: self.origin.clone(), value: self.shown.clone() };
        self.writer.as_deref().cloned().unwrap_or_else(own)
    }

    fn named_value(&self) -> NamedValue {
        NamedValue { key: self.name.clone(), origin: self.origin.clone(), value: self.value.clone() }
    }
}

impl Configuration {
    /// The value, validated against the key's kind; `None` if it is not set. An empty text counts as not set if an empty
    /// value has no meaning.
    /// Errors: [`ConfigError::BadValue`], [`ConfigError::EndlessExpansion`]; [`ConfigError::UnknownVariable`] where the kind is no text.
    pub(crate) fn checked(&self, key: &Key) -> Result<Option<Setting>, ConfigError> {
        let Some(setting) = self.setting(key)? else { return Ok(None) };
        if key.kind.is_text() {
            return Ok(Some(setting));
        }
        if setting.value.trim().is_empty() {
            return Ok(None);
        }
        if let Some(error) = self.unresolved(&setting) {
            return Err(error);
        }
        match key.kind.refusal(&setting.value) {
            Some(expected) => Err(setting.bad_value(expected)),
            None => Ok(Some(setting)),
        }
    }

    /// The value of a required key. Errors: as [`Self::checked`], and [`ConfigError::NotSet`].
    pub(crate) fn required(&self, key: &Key) -> Result<Setting, ConfigError> {
        self.checked(key)?.ok_or_else(|| ConfigError::NotSet { key: key.name, expected: key.kind.to_string() })
    }

    /// A text, blanks kept; `None` if not set or empty.
    pub(crate) fn text(&self, key: &Key) -> Result<Option<String>, ConfigError> {
        Ok(self.checked(key)?.map(|setting| setting.value).filter(|text| !text.is_empty()))
    }

    /// A whole number in the key's unit, as the caller's integer type.
    pub(crate) fn number<T: TryFrom<i64>>(&self, key: &Key) -> Result<T, ConfigError> {
        let setting = self.required(key)?;
        keys::parse_number(&setting.value)
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| setting.bad_value(key.kind.to_string()))
    }

    /// A limit: `None` if not set or below `least`, which means "no limit" in Hadoop.
    pub(crate) fn limit<T: TryFrom<i64>>(&self, key: &Key, least: i64) -> Result<Option<T>, ConfigError> {
        match self.checked(key)?.and_then(|setting| keys::parse_number(&setting.value)) {
            Some(number) if number >= least => self.number(key).map(Some),
            _ => Ok(None),
        }
    }

    /// A limit of milliseconds; 0: none.
    pub(crate) fn time_limit(&self, key: &Key) -> Result<Duration, ConfigError> {
        let limit_ms: u64 = self.number(key)?;
        Ok(if limit_ms == 0 { NO_TIME_LIMIT } else { Duration::from_millis(limit_ms) })
    }

    pub(crate) fn flag(&self, key: &Key) -> Result<bool, ConfigError> {
        let setting = self.required(key)?;
        keys::parse_flag(&setting.value).ok_or_else(|| setting.bad_value(key.kind.to_string()))
    }

    /// A flag whose names must agree where more than one is set, in whatever layers.
    /// Errors: as [`Self::required`], and [`ConfigError::TwoValues`].
    pub(crate) fn agreed_flag(&self, key: &Key) -> Result<bool, ConfigError> {
        let mut first: Option<Setting> = None;
        for name in key.spellings() {
            let Some(other) = self.named(name)? else { continue };
            match &first {
                None => first = Some(other),
                Some(first) if first.value.trim() == other.value.trim() => {}
                Some(first) => {
                    let [first, second] = [first, &other].map(|setting| Box::new(setting.named_value()));
                    return Err(ConfigError::TwoValues { first, second });
                }
            }
        }
        self.flag(key)
    }

    pub(crate) fn ratio(&self, key: &Key) -> Result<PartsPerMillion, ConfigError> {
        let setting = self.required(key)?;
        PartsPerMillion::parse(&setting.value).ok_or_else(|| setting.bad_value(key.kind.to_string()))
    }

    pub(crate) fn address(&self, key: &Key) -> Result<HostPort, ConfigError> {
        let setting = self.required(key)?;
        HostPort::parse(&setting.value).ok_or_else(|| setting.bad_value(key.kind.to_string()))
    }

    /// Names separated by commas, blanks around them removed.
    pub(crate) fn list(&self, key: &Key) -> Result<Vec<String>, ConfigError> {
        let text = self.text(key)?.unwrap_or_default();
        Ok(text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// A path of this machine; `None` if not set. A leading `file:` is removed, `.` and `..` are resolved as text.
    /// Errors: as [`Self::checked`]; a path that is not absolute.
    pub(crate) fn local_path(&self, key: &Key) -> Result<Option<PathBuf>, ConfigError> {
        let Some(setting) = self.checked(key)? else { return Ok(None) };
        local_path(&setting.value).map(Some).ok_or_else(|| setting.bad_value(key.kind.to_string()))
    }

    /// A path of this machine at which a socket can be opened; `None` if the key is not set.
    /// Errors: as [`Self::checked`]; the path is no socket's, or longer than the system takes.
    pub(crate) fn socket_path(&self, key: &Key) -> Result<Option<PathBuf>, ConfigError> {
        let Some(path) = self.local_path(key)? else { return Ok(None) };
        let is_short = path.as_os_str().len() <= MOST_SOCKET_PATH_BYTES;
        match path.file_name().is_some_and(|name| is_short && name.len() <= MOST_SOCKET_NAME_BYTES) {
            true => Ok(Some(path)),
            false => {
                let expected = format!(
                    "the absolute path of a socket, of at most {MOST_SOCKET_PATH_BYTES} bytes, with at most \
                     {MOST_SOCKET_NAME_BYTES} after the last slash"
                );
                Err(self.required(key)?.bad_value(expected))
            }
        }
    }

    /// A required path of this machine. Errors: as [`Self::local_path`] and [`Self::required`].
    pub(crate) fn required_local_path(&self, key: &Key) -> Result<PathBuf, ConfigError> {
        let setting = self.required(key)?;
        local_path(&setting.value).ok_or_else(|| setting.bad_value(key.kind.to_string()))
    }

    /// A path on a supported file system: that of this machine, which all machines may share, or HDFS.
    /// Errors: as [`Self::required`]; another file system.
    pub(crate) fn file_uri(&self, key: &Key) -> Result<FileUri, ConfigError> {
        let setting = self.required(key)?;
        self.resolve(setting.value.trim()).map_err(|_| setting.bad_value(key.kind.to_string()))
    }

    /// The root of the file system of paths without a scheme (`fs.default.name`); that of this machine if the value is none.
    #[must_use]
    pub(crate) fn default_file_system(&self) -> FileUri {
        let setting = self.checked(&keys::DEFAULT_FILE_SYSTEM).ok().flatten();
        setting.and_then(|setting| FileUri::of_default(setting.value.trim()).ok()).unwrap_or_else(FileUri::local_root)
    }

    /// The file that a text names; without a scheme it lies on the default file system.
    /// Errors: an unknown file system, or no absolute path.
    pub(crate) fn resolve(&self, text: &str) -> Result<FileUri, FileUriError> {
        self.default_file_system().resolve(text)
    }

    /// Paths of this machine separated by commas; at least one. Errors: as [`Self::required`]; a path that is not absolute.
    pub(crate) fn local_paths(&self, key: &Key) -> Result<Vec<PathBuf>, ConfigError> {
        let setting = self.required(key)?;
        let parts = setting.value.split(',').map(str::trim).filter(|part| !part.is_empty());
        let paths: Option<Vec<PathBuf>> = parts.map(local_path).collect();
        paths.filter(|paths| !paths.is_empty()).ok_or_else(|| setting.bad_value(key.kind.to_string()))
    }
}

fn local_path(text: &str) -> Option<PathBuf> {
    Some(FileUri::parse(text.trim()).ok()?.local_path()?.to_owned())
}

#[cfg(test)]
#[path = "tests/typed.rs"]
mod tests;
