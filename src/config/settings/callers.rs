//! Callers: how requests to pages say who asks, which users may act for others, and whose word is enough for changes of jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;

use crate::config::configuration::{Configuration, Setting};
use crate::config::error::ConfigError;
use crate::config::keys;
use crate::fs::LocalFileSystem;

const STATIC_USER: &str = "org.apache.hadoop.http.lib.StaticUserWebFilter";
const AUTHENTICATION: &str = "org.apache.hadoop.security.AuthenticationFilterInitializer";
/// The type that gives names, which are believed.
const SIMPLE: &str = "simple";
const MAX_SECRET_BYTES: u64 = 1 << 16;

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
    /// The secret, with every byte of its file, as Hadoop takes it. Errors: why there is none; with the key that names the file.
    pub(crate) fn secret(&self) -> Result<Vec<u8>, String> {
        let (key, file) = (keys::HTTP_AUTH_SECRET.name, self.secret_file.display());
        let read = LocalFileSystem.read_limited(&self.secret_file, MAX_SECRET_BYTES);
        let secret = read.map_err(|error| format!("{error} ({key})"))?;
        if secret.is_empty() { Err(format!("{file} is empty; expected a secret ({key})")) } else { Ok(secret) }
    }
}

/// What the names of these keys begin with.
const PREFIX: &str = "hadoop.proxyuser.";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NameList {
    /// `*`.
    All,
    Names(BTreeSet<String>),
}

/// The users that a user may act for, and where it calls from.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct ProxyUser {
    pub(crate) groups: NameList,
    pub(crate) hosts: NameList,
}

pub(crate) type ProxyUsers = BTreeMap<String, ProxyUser>;

impl Default for NameList {
    fn default() -> Self {
        Self::Names(BTreeSet::new())
    }
}

/// Reads `hadoop.proxyuser.USER.groups` and `.hosts` of all users.
pub(super) fn proxy_users(configuration: &Configuration) -> Result<ProxyUsers, ConfigError> {
    let mut users = ProxyUsers::new();
    let names: Vec<&str> =
        configuration.written().map(|(name, _, _)| name).filter(|name| name.starts_with(PREFIX)).collect();
    for name in names {
        let Some(setting) = configuration.named(name)? else { continue };
        let of_user = name.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once('.'));
        match of_user {
            Some((user, "groups")) if !user.is_empty() => {
                users.entry(user.to_owned()).or_default().groups = name_list(&setting)?;
            }
            Some((user, "hosts")) if !user.is_empty() => {
                users.entry(user.to_owned()).or_default().hosts = name_list(&setting)?;
            }
            _ => {
                let expected = format!("a key {} or {}", keys::PROXY_GROUPS.name, keys::PROXY_HOSTS.name);
                return Err(setting.bad_value(expected));
            }
        }
    }
    Ok(users)
}

/// `*` alone, or names separated by commas.
fn name_list(setting: &Setting) -> Result<NameList, ConfigError> {
    let names = setting.value.split(',').map(str::trim).filter(|name| !name.is_empty());
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    let is_name = |name: &String| name != "*" && !name.contains(char::is_whitespace);
    match names.len() == 1 && names.contains("*") {
        true => Ok(NameList::All),
        false if names.iter().all(is_name) => Ok(NameList::Names(names)),
        false => Err(setting.bad_value("names without blanks, separated by commas, or * alone")),
    }
}

/// From which callers changes of jobs are taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobChangeSettings {
    /// Whether submissions and changes need a signature under every scheduler (`jobtracker.job-changes` = `signed`).
    pub(crate) are_signed: bool,
    /// Names and addresses of hosts whose callers may change jobs without one (`jobtracker.job-changes.hosts`).
    pub(crate) hosts: Vec<String>,
}

impl JobChangeSettings {
    pub(crate) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let hosts = configuration.list(&keys::JOB_CHANGES_HOSTS)?;
        if let Some(setting) = configuration.setting(&keys::JOB_CHANGES_HOSTS)?
            && !hosts.iter().all(|host| is_host(host))
        {
            return Err(setting.bad_value("host names or addresses, without ports, separated by commas"));
        }
        let are_signed = configuration.required(&keys::JOB_CHANGES)?.value.trim() == "signed";
        Ok(Self { are_signed, hosts })
    }
}

/// Whether a text can be the name or the address of a host.
fn is_host(text: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.parse::<IpAddr>().is_ok() || text.bytes().all(is_name)
}

#[cfg(test)]
mod tests {
    use crate::config::Settings;
    use crate::config::settings::test_options;

    use super::*;

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

    fn read(set: &[&str]) -> Result<ProxyUsers, String> {
        proxy_users(&test_options(None, set).configuration().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn lists_are_stars_or_names() {
        let users = read(&[
            "hadoop.proxyuser.oozie.groups= staff , ops",
            "hadoop.proxyuser.oozie.hosts=*",
            "hadoop.proxyuser.hue.hosts=",
        ])
        .unwrap();
        let staff = NameList::Names(["ops".to_owned(), "staff".to_owned()].into());
        assert_eq!(users["oozie"], ProxyUser { groups: staff, hosts: NameList::All });
        assert_eq!(users["hue"], ProxyUser::default());
    }

    #[test]
    fn a_slip_is_named_with_its_place() {
        let refused = |set: &str| read(&[set]).unwrap_err();
        let found = [
            refused("hadoop.proxyuser.oozie.host=h1"),
            refused("hadoop.proxyuser.oozie.hosts=h1 h2"),
            refused("hadoop.proxyuser.oozie.groups=*,staff"),
        ];
        insta::assert_snapshot!(found.join("\n"), @r#"
        -D: hadoop.proxyuser.oozie.host = "h1": expected a key hadoop.proxyuser.<user>.groups or hadoop.proxyuser.<user>.hosts
        -D: hadoop.proxyuser.oozie.hosts = "h1 h2": expected names without blanks, separated by commas, or * alone
        -D: hadoop.proxyuser.oozie.groups = "*,staff": expected names without blanks, separated by commas, or * alone
        "#);
    }
}
