//! How requests to pages say who asks (`hadoop.http.filter.initializers`, `hadoop.http.authentication.*`).

use std::path::PathBuf;

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::keys;
use crate::fs::LocalFileSystem;

const STATIC_USER: &str = "org.apache.hadoop.http.lib.StaticUserWebFilter";
const AUTHENTICATION: &str = "org.apache.hadoop.security.AuthenticationFilterInitializer";
/// The type that gives names, which are believed.
const SIMPLE: &str = "simple";
/// Maximum size of the file with the secret, bytes.
const MAX_SECRET_BYTES: u64 = 1 << 16;

/// How requests to pages say who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum PageLoginSettings {
    /// They do not.
    #[default]
    Nameless,
    /// All are one user.
    OneUser,
    /// By a name, then by a cookie.
    Simple(SimpleLoginSettings),
}

/// Names that are believed, and the cookie that keeps them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SimpleLoginSettings {
    pub(crate) secret_file: PathBuf,
    /// How long a cookie is good, s.
    pub(crate) validity_s: u32,
    /// Whether requests without a name are answered.
    pub(crate) allows_nameless: bool,
}

impl PageLoginSettings {
    /// Reads the keys; of the file only its name.
    pub(super) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let names = configuration.list(&keys::FILTER_INITIALIZERS)?;
        let Some(setting) = configuration.setting(&keys::FILTER_INITIALIZERS)? else { return Ok(Self::Nameless) };
        if names.iter().any(|name| ![STATIC_USER, AUTHENTICATION].contains(&name.as_str())) {
            return Err(setting.bad_value(format!("{STATIC_USER}, {AUTHENTICATION}, or nothing")));
        }
        if !names.iter().any(|name| name == AUTHENTICATION) {
            return Ok(if names.is_empty() { Self::Nameless } else { Self::OneUser });
        }
        let kind = configuration.required(&keys::HTTP_AUTH_TYPE)?;
        if kind.value.trim() != SIMPLE {
            return Err(kind.bad_value("simple: neither Kerberos nor another class is supported"));
        }
        Ok(Self::Simple(SimpleLoginSettings {
            secret_file: configuration.required_local_path(&keys::HTTP_AUTH_SECRET)?,
            validity_s: configuration.number(&keys::HTTP_AUTH_VALIDITY)?,
            allows_nameless: configuration.flag(&keys::HTTP_AUTH_NAMELESS)?,
        }))
    }
}

impl SimpleLoginSettings {
    /// The secret, with every byte of its file, as Hadoop takes it.
    ///
    /// # Errors
    /// Why there is none; with the key that names the file.
    pub(crate) fn secret(&self) -> Result<Vec<u8>, String> {
        let (key, file) = (keys::HTTP_AUTH_SECRET.name, self.secret_file.display());
        let read = LocalFileSystem.read_limited(&self.secret_file, MAX_SECRET_BYTES);
        let secret = read.map_err(|error| format!("{error} ({key})"))?;
        if secret.is_empty() { Err(format!("{file} is empty; expected a secret ({key})")) } else { Ok(secret) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::config::settings::test_options;

    fn login(overrides: &[&str]) -> Result<PageLoginSettings, String> {
        let configuration = test_options(None, overrides).configuration().unwrap();
        PageLoginSettings::from_configuration(&configuration).map_err(|error| error.to_string())
    }

    #[test]
    fn the_initializers_say_who_asks() {
        let of = |class: &str| format!("hadoop.http.filter.initializers={class}");
        assert_eq!(login(&[]), Ok(PageLoginSettings::Nameless));
        assert_eq!(login(&[&of(STATIC_USER)]), Ok(PageLoginSettings::OneUser));
        let simple = |file: &str, validity_s, allows_nameless| {
            PageLoginSettings::Simple(SimpleLoginSettings { secret_file: file.into(), validity_s, allows_nameless })
        };
        let default = "/home/h1/hadoop-http-auth-signature-secret";
        assert_eq!(login(&[&of(AUTHENTICATION)]), Ok(simple(default, 36_000, true)));
        let set = [
            "hadoop.http.authentication.signature.secret.file=/etc/secret",
            "hadoop.http.authentication.token.validity=60",
            "hadoop.http.authentication.simple.anonymous.allowed=false",
        ];
        let both = of(&format!("{STATIC_USER},{AUTHENTICATION}"));
        assert_eq!(login(&[&both, set[0], set[1], set[2]]), Ok(simple("/etc/secret", 60, false)));
    }

    #[test]
    fn what_is_not_supported_is_refused_by_its_key() {
        let authentication = format!("hadoop.http.filter.initializers={AUTHENTICATION}");
        let kerberos = login(&[&authentication, "hadoop.http.authentication.type=kerberos"]).unwrap_err();
        assert!(kerberos.contains("hadoop.http.authentication.type") && kerberos.contains("simple"), "{kerberos}");
        let other = login(&["hadoop.http.filter.initializers=com.example.Filter"]).unwrap_err();
        assert!(other.contains("hadoop.http.filter.initializers") && other.contains(STATIC_USER), "{other}");
        let errors = Settings::all_errors(&test_options(None, &["hadoop.http.filter.initializers=com.example.Filter"]));
        assert_eq!(errors.len(), 1, "{errors:?}");
    }

    #[test]
    fn the_secret_is_the_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let secret_file = folder.path().join("secret");
        let login = SimpleLoginSettings { secret_file: secret_file.clone(), validity_s: 1, allows_nameless: true };
        assert!(login.secret().unwrap_err().contains("hadoop.http.authentication.signature.secret.file"));
        std::fs::write(&secret_file, "").unwrap();
        assert!(login.secret().unwrap_err().contains("is empty"));
        std::fs::write(&secret_file, "s3cret\n").unwrap();
        assert_eq!(login.secret().unwrap(), b"s3cret\n", "as Hadoop takes it");
    }
}
