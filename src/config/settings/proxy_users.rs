//! Users that may act for others (1.2.1 `ProxyUsers`).

use std::collections::{BTreeMap, BTreeSet};

use crate::config::configuration::{Configuration, Setting};
use crate::config::error::ConfigError;
use crate::config::keys;

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
    /// Groups of the users that it may act for.
    pub(crate) groups: NameList,
    /// Host names and addresses that it may call from.
    pub(crate) hosts: NameList,
}

/// The users that may act for others, by name.
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

#[cfg(test)]
mod tests {
    use super::super::test_options;
    use super::*;

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
