//! What this process and this machine say of themselves: Java's system properties, which `${…}` may refer to besides keys, and
//! the host name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::fs::Account;

/// Names and values of a process that configuration values may refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `user.name`, `user.home`, `java.io.tmpdir` and other properties of the caller.
    ///
    /// `hadoop.tmp.dir` here is not a property, but that key's default without a conf folder.
    pub properties: BTreeMap<String, String>,
    /// The conf folder of `JOBTRACKER_CONF`, else of `HADOOP_CONF_DIR`.
    pub conf_dir: Option<PathBuf>,
}

impl Environment {
    /// Reads the environment of this process. The user is the process's real user, whatever `USER` contains.
    #[must_use]
    pub(crate) fn of_process() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let user_id = rustix::process::getuid().as_raw();
        let account = Account::of(user_id);
        let name = account.as_ref().map(|account| account.name.clone()).or_else(|| variable("USER"));
        let home = variable("HOME").or_else(|| account.map(|account| account.home).filter(|home| !home.is_empty()));
        let mut properties = BTreeMap::new();
        properties.insert("user.name".to_owned(), name.unwrap_or_else(|| user_id.to_string()));
        properties.insert("java.io.tmpdir".to_owned(), variable("TMPDIR").unwrap_or_else(|| "/tmp".to_owned()));
        properties.extend(home.map(|home| ("user.home".to_owned(), home)));
        let conf_dir = variable("JOBTRACKER_CONF").or_else(|| variable("HADOOP_CONF_DIR")).map(PathBuf::from);
        Environment { properties, conf_dir }
    }
}

/// The kernel's host name; `localhost` if it is empty or not UTF-8.
#[must_use]
pub(crate) fn host_name() -> String {
    let name = rustix::system::uname();
    match name.nodename().to_str() {
        Ok(name) if !name.is_empty() => name.to_owned(),
        _ => "localhost".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_a_user_and_a_scratch_folder() {
        let properties = Environment::of_process().properties;
        assert!(properties.contains_key("user.name") && properties.contains_key("java.io.tmpdir"));
    }
}
