//! What Java would know as system properties: names that `${…}` may use beside keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The names and values around a process that configuration values may refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `user.name`, `user.home`, `java.io.tmpdir` and whatever else the caller wants to be known.
    ///
    /// `hadoop.tmp.dir` here is no property but that key's default without a conf folder.
    pub properties: BTreeMap<String, String>,
    /// The conf folder of `HADOOP_CONF_DIR`.
    pub conf_dir: Option<PathBuf>,
}

impl Environment {
    /// Reads the environment of this process. The user is the one the process runs as, not what `USER` says.
    #[must_use]
    pub fn of_process() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let user_id = rustix::process::getuid().as_raw();
        let passwd = std::fs::read(Path::new("/etc/passwd")).unwrap_or_default();
        let account = account(&String::from_utf8_lossy(&passwd), user_id);
        let name = account.as_ref().map(|(name, _)| name.clone()).or_else(|| variable("USER"));
        let home = variable("HOME").or_else(|| account.map(|(_, home)| home).filter(|home| !home.is_empty()));
        let mut properties = BTreeMap::new();
        properties.insert("user.name".to_owned(), name.unwrap_or_else(|| user_id.to_string()));
        properties.insert("java.io.tmpdir".to_owned(), variable("TMPDIR").unwrap_or_else(|| "/tmp".to_owned()));
        properties.extend(home.map(|home| ("user.home".to_owned(), home)));
        Environment { properties, conf_dir: variable("HADOOP_CONF_DIR").map(PathBuf::from) }
    }
}

/// Name and home of a user id in the text of a password file.
fn account(passwd: &str, user_id: u32) -> Option<(String, String)> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let id: u32 = fields.nth(1)?.parse().ok()?;
        (id == user_id).then(|| (name.to_owned(), fields.nth(2).unwrap_or_default().to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_an_account_among_broken_lines() {
        let passwd = "broken\nroot:x:0:0:root:/root:/bin/sh\nh1:x:1001:1001::/home/h1:/bin/sh\nnohome:x:7\n";
        assert_eq!(account(passwd, 1001), Some(("h1".to_owned(), "/home/h1".to_owned())));
        assert_eq!(account(passwd, 7), Some(("nohome".to_owned(), String::new())));
        assert_eq!(account(passwd, 8), None);
    }

    #[test]
    fn a_process_has_a_user_and_a_scratch_folder() {
        let properties = Environment::of_process().properties;
        assert!(properties.contains_key("user.name") && properties.contains_key("java.io.tmpdir"));
    }
}
