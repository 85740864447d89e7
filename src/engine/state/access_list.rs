//! Access lists, `*` or `user,user group,group` (1.2.1 `AccessControlList`), and the callers that they name.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// The user of the connection that a request came on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Short user name.
    pub user: Arc<str>,
    /// Groups of the user on the daemon's machine. Empty where no access list needs them.
    pub groups: Arc<[String]>,
    /// The user that acts for `user`, if another does (`hadoop.proxyuser.*`). Decides nothing.
    pub real_user: Option<Arc<str>>,
    /// Whether a signature proves the role `admin` of the list of keys: an administrator of the cluster.
    pub has_admin_role: bool,
}

impl Caller {
    /// A user without known groups.
    pub fn named(user: impl Into<Arc<str>>) -> Self {
        Self { user: user.into(), groups: Arc::new([]), real_user: None, has_admin_role: false }
    }
}

/// As 1.2.1 prints it (`UserGroupInformation.toString`).
impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.user)?;
        self.real_user.iter().try_for_each(|real_user| write!(f, " via {real_user}"))
    }
}

/// Whether a list, `*` or `user,user group,group`, names the caller.
pub(crate) fn allows(list: &str, caller: &Caller) -> bool {
    if list.trim() == "*" {
        return true;
    }
    let (users, groups) = list.split_once(' ').unwrap_or((list, ""));
    let is_in = |names: &str, name: &str| !name.is_empty() && names.split(',').any(|other| other.trim() == name);
    is_in(users, &caller.user) || caller.groups.iter().any(|group| is_in(groups, group))
}

pub(crate) fn names_groups(list: &str) -> bool {
    list.trim() != "*" && list.split_once(' ').is_some_and(|(_, groups)| !groups.trim().is_empty())
}

/// A list as 1.2.1 sends it: names sorted, each once.
pub(crate) fn written(list: &str) -> String {
    if list.trim() == "*" {
        return "*".to_owned();
    }
    let (users, groups) = list.split_once(' ').unwrap_or((list, ""));
    let sorted = |names: &str| {
        let names: BTreeSet<&str> = names.split(',').filter(|name| !name.is_empty()).map(str::trim).collect();
        names.into_iter().collect::<Vec<_>>().join(",")
    };
    format!("{} {}", sorted(users), sorted(groups))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_group(user: &str, group: &str) -> Caller {
        Caller { groups: [group.to_owned()].into(), ..Caller::named(user) }
    }

    #[test]
    fn lists_name_users_before_the_first_blank_and_groups_after_it() {
        assert!(allows("*", &Caller::named("anyone")));
        assert!(allows("alice,bob ops", &Caller::named("bob")));
        assert!(!allows("alice,bob ops", &Caller::named("ops")));
        assert!(allows("alice,bob ops", &in_group("carol", "ops")));
        assert!(!allows("alice,bob ops", &in_group("carol", "bob")));
        assert!(allows(" ops,dev", &in_group("carol", "dev")));
        assert!(!allows(" ", &in_group("alice", "ops")));
        assert!(!allows("", &Caller::named("alice")));
        assert!(!allows(",", &Caller::named("")));
    }

    #[test]
    fn lists_are_sent_sorted() {
        assert_eq!(written("bob,alice,bob ops,dev"), "alice,bob dev,ops");
        assert_eq!(written(" * "), "*");
        assert_eq!(written(""), " ");
        assert_eq!(written("alice"), "alice ");
    }
}
