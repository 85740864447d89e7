//! The market: its files, its signatures, who sees its money, and which back-end has the image of the budgets.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::config::configuration::{Configuration, Setting};
use crate::config::error::{ConfigError, Origin};
use crate::config::keys;
use crate::config::keys::Key;
use crate::config::shown_url::without_password;

use super::scheduler::DYNAMIC_CLASS;
use super::{JobChangeSettings, SchedulerKind};

/// Settings of the market, which rules under the Dynamic Priority Scheduler and keeps accounts under every other one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MarketSettings {
    /// Back-end for budgets outside of the state database.
    pub(crate) budget_store: BudgetStoreKind,
    pub(crate) acl_file: PathBuf,
    /// Maximum difference between a request's timestamp and the server's clock, ms.
    pub(crate) signature_window_ms: u64,
    /// Maximum difference between a job signature's timestamp and the server's clock, ms.
    pub(crate) job_signature_window_ms: u64,
    pub(crate) job_signature_uses: u32,
    /// Whether unsigned requests see shares of queues and costs of jobs.
    pub(crate) is_public: bool,
}

impl MarketSettings {
    /// The market of a cluster with this scheduler: the Dynamic Priority Scheduler needs one, and so does every other
    /// where changes must be signed; else there is one where the ACL file is.
    pub(super) fn find(
        configuration: &Configuration,
        scheduler: &SchedulerKind,
        are_changes_signed: bool,
    ) -> Result<Option<Self>, ConfigError> {
        let is_needed = are_changes_signed || matches!(scheduler, SchedulerKind::Dynamic(_));
        let is_there = is_needed || Self::has_acl_file(configuration);
        if is_there { Self::from_configuration(configuration).map(Some) } else { Ok(None) }
    }

    /// Whether a configuration needs a market, whatever files there are. Errors: a value that expands without end.
    pub(super) fn is_needed(configuration: &Configuration) -> Result<bool, ConfigError> {
        let is_dynamic = configuration.required(&keys::TASK_SCHEDULER)?.value.trim() == DYNAMIC_CLASS;
        Ok(is_dynamic || JobChangeSettings::from_configuration(configuration)?.are_signed)
    }

    pub(super) fn has_acl_file(configuration: &Configuration) -> bool {
        let path = configuration.local_path(&keys::ACL_FILE).ok().flatten();
        // A file that cannot be looked at is there: reading it names the reason.
        path.is_some_and(|path| path.try_exists().unwrap_or(true))
    }

    /// The budget file, where it is the image of the budgets.
    #[must_use]
    pub(crate) fn image_file(&self) -> Option<&Path> {
        match &self.budget_store {
            BudgetStoreKind::File(path) => Some(path),
            BudgetStoreKind::Command(_) | BudgetStoreKind::Postgres(_) => None,
        }
    }

    fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        // The key table limits the seconds, so this cannot overflow.
        let milliseconds = |key: &Key| configuration.number::<u64>(key).map(|seconds| seconds.saturating_mul(1000));
        Ok(MarketSettings {
            budget_store: BudgetStoreKind::from_configuration(configuration)?,
            acl_file: configuration.required_local_path(&keys::ACL_FILE)?,
            signature_window_ms: milliseconds(&keys::SIGNATURE_WINDOW)?,
            job_signature_window_ms: milliseconds(&keys::JOB_SIGNATURE_WINDOW)?,
            job_signature_uses: configuration.number(&keys::JOB_SIGNATURE_USES)?,
            is_public: configuration.required(&keys::MARKET_VISIBILITY)?.value.trim() == "public",
        })
    }
}

const FILE_STORE_CLASS: &str = "org.apache.hadoop.mapred.FileAllocationStore";
const FILE: &str = "file";
const COMMAND: &str = "command";
const POSTGRES: &str = "postgres";
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Back-end that budgets are imported from at the first start and published to afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BudgetStoreKind {
    /// `mapred.dynamic-scheduler.budget-file`.
    File(PathBuf),
    /// A program and its first arguments.
    Command(Vec<String>),
    Postgres(PostgresSettings),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresSettings {
    /// Its URL, without the parameters of TLS.
    pub url: String,
    pub ssl_mode: SslMode,
    /// Certificates that may sign the server's; `system` for those of this machine.
    pub root_certificates: Option<String>,
    /// Holds the password and nothing else.
    pub password_file: Option<PathBuf>,
}

/// How much TLS is demanded, in the words of libpq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// TLS if the server offers nothing else.
    Allow,
    /// TLS if the server offers it.
    Prefer,
    /// TLS, whatever the certificate.
    Require,
    /// TLS with a certificate that is signed by one of the root certificates.
    VerifyCa,
    /// The same, and in the server's name.
    VerifyFull,
}

const SSL_MODES: [(&str, SslMode); 6] = [
    ("disable", SslMode::Disable),
    ("allow", SslMode::Allow),
    ("prefer", SslMode::Prefer),
    ("require", SslMode::Require),
    ("verify-ca", SslMode::VerifyCa),
    ("verify-full", SslMode::VerifyFull),
];

impl BudgetStoreKind {
    /// The store that a configuration names. Errors: a value that is wrong, or one that is missing.
    pub(crate) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let named = configuration.required(&keys::BUDGET_STORE)?;
        let command = given(configuration, &keys::BUDGET_STORE_COMMAND)?;
        let is_default = matches!(named.origin, Origin::Default);
        match (named.value.trim(), command) {
            (_, Some(command)) if is_default => Self::command(&command),
            (COMMAND, Some(command)) => Self::command(&command),
            (COMMAND, None) => Err(ConfigError::NotSet {
                key: keys::BUDGET_STORE_COMMAND.name,
                expected: format!("a program, since {} is `{COMMAND}`", keys::BUDGET_STORE.name),
            }),
            (FILE | FILE_STORE_CLASS | POSTGRES, Some(command)) => Err(command.bad_value(format!(
                "nothing, since {} is `{}`, or `{COMMAND}` there",
                keys::BUDGET_STORE.name,
                named.value.trim()
            ))),
            (FILE | FILE_STORE_CLASS, None) => configuration.required_local_path(&keys::BUDGET_FILE).map(Self::File),
            (POSTGRES, None) => PostgresSettings::from_configuration(configuration).map(Self::Postgres),
            _ => Err(named.bad_value(format!("`{FILE}` (or {FILE_STORE_CLASS}), `{POSTGRES}` or `{COMMAND}`"))),
        }
    }

    fn command(setting: &Setting) -> Result<Self, ConfigError> {
        let words: Vec<String> = setting.value.split_ascii_whitespace().map(str::to_owned).collect();
        match words.first().is_some_and(|program| program.starts_with('/')) {
            true => Ok(Self::Command(words)),
            false => {
                Err(setting.bad_value("the absolute path of a program and its first arguments, divided by blanks"))
            }
        }
    }
}

impl PostgresSettings {
    fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let expected = "a URL such as postgres://jobtracker@db.example.com/accounting?sslmode=verify-full";
        let url = given(configuration, &keys::BUDGET_STORE_URL)?.ok_or_else(|| ConfigError::NotSet {
            key: keys::BUDGET_STORE_URL.name,
            expected: format!("{expected}, since {} is `{POSTGRES}`", keys::BUDGET_STORE.name),
        })?;
        let password_file = configuration.local_path(&keys::BUDGET_STORE_PASSWORD_FILE)?;
        let text = url.value.trim();
        if !SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            return Err(url.bad_value(expected));
        }
        if has_password(text) {
            let instead = keys::BUDGET_STORE_PASSWORD_FILE.name;
            return Err(url.bad_value(format!("a URL without a password, which belongs in the file of {instead}")));
        }
        let (ssl_mode, root_certificates, text) = Self::split_tls(text).map_err(|expected| url.bad_value(expected))?;
        if matches!(ssl_mode, SslMode::VerifyCa | SslMode::VerifyFull) && root_certificates.is_none() {
            return Err(url.bad_value(format!(
                "sslrootcert=FILE beside sslmode={ssl_mode}, or sslrootcert=system for the certificates of this machine"
            )));
        }
        Ok(Self { url: text, ssl_mode, root_certificates, password_file })
    }

    fn split_tls(url: &str) -> Result<(SslMode, Option<String>, String), String> {
        let (before, parameters) = url.split_once('?').unwrap_or((url, ""));
        let (mut ssl_mode, mut root_certificates, mut others) = (SslMode::Prefer, None, Vec::new());
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=').unwrap_or((parameter, "")) {
                ("sslmode", word) => ssl_mode = SslMode::named(word)?,
                ("sslrootcert", path) => root_certificates = Some(decoded(path)?),
                _ => others.push(parameter),
            }
        }
        if root_certificates.as_deref() == Some("system") && ssl_mode != SslMode::VerifyFull {
            return Err("sslmode=verify-full beside sslrootcert=system, whose signers sign for anybody".to_owned());
        }
        let parameters = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
        Ok((ssl_mode, root_certificates, format!("{before}{parameters}")))
    }
}

/// A text that is not blank.
fn given(configuration: &Configuration, key: &Key) -> Result<Option<Setting>, ConfigError> {
    Ok(configuration.checked(key)?.filter(|setting| !setting.value.trim().is_empty()))
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.map(String::from).map_err(|_| "a path in UTF-8 after sslrootcert=".to_owned())
}

/// Whether a URL has a password: after the user, or as a parameter.
fn has_password(url: &str) -> bool {
    without_password(url) != url
}

impl SslMode {
    fn named(word: &str) -> Result<Self, String> {
        let found = SSL_MODES.iter().find(|(name, _)| *name == word).map(|(_, mode)| *mode);
        found.ok_or_else(|| format!("sslmode to be one of {}", SSL_MODES.map(|(name, _)| name).join(", ")))
    }
}

impl fmt::Display for SslMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = SSL_MODES.iter().find(|(_, mode)| mode == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_tls_are_taken_out_of_the_url() {
        let split = |url| PostgresSettings::split_tls(url);
        let url =
            "postgres://u@h/db?connect_timeout=5&sslmode=verify-full&sslrootcert=/etc/my%20ca.pem&application_name=x";
        let expected = "postgres://u@h/db?connect_timeout=5&application_name=x".to_owned();
        assert_eq!(split(url).unwrap(), (SslMode::VerifyFull, Some("/etc/my ca.pem".to_owned()), expected));
        assert_eq!(split("postgres://h/db").unwrap(), (SslMode::Prefer, None, "postgres://h/db".to_owned()));
        assert!(split("postgres://h/db?sslmode=always").unwrap_err().contains("verify-full"));
        assert!(split("postgres://h/db?sslmode=verify-full&sslrootcert=system").is_ok());
        // As libpq does.
        for weak in ["sslmode=require&", "sslmode=verify-ca&", ""] {
            let url = format!("postgres://h/db?{weak}sslrootcert=system");
            let error = PostgresSettings::split_tls(&url).unwrap_err();
            assert!(error.contains("sslmode=verify-full beside sslrootcert=system"), "{error}");
        }
    }
}
