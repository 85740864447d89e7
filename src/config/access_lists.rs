//! Access lists, `user,user group,group`: what they name, and what shuts users out unseen.

use super::configuration::Configuration;
use super::error::{Origin, Warning};
use super::keys;
use super::keys::Key;

/// A list that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessList {
    pub(crate) key: String,
    pub(crate) origin: Origin,
    /// As written.
    pub(crate) value: String,
    /// Before the first blank.
    pub(crate) users: Vec<String>,
    /// After it.
    pub(crate) groups: Vec<String>,
}

/// The lists that are set and enforced, but for those that admit everybody.
#[must_use]
pub(crate) fn in_force(configuration: &Configuration) -> Vec<AccessList> {
    let queues = configuration.list(&keys::QUEUE_NAMES).unwrap_or_default();
    let are_lists_on = configuration.flag(&keys::ACLS_ENABLED).unwrap_or_default();
    let is_policy_on = configuration.flag(&keys::SECURITY_AUTHORIZATION).unwrap_or_default();
    let is_in_force = |name: &str| {
        let of_queue = |key: &Key| key.queue_in(name).is_some_and(|queue| queues.iter().any(|listed| listed == queue));
        keys::ADMINISTRATORS.is_spelled(name)
            || (are_lists_on && [keys::QUEUE_ACL_SUBMIT, keys::QUEUE_ACL_ADMINISTER].iter().any(of_queue))
            || (is_policy_on && keys::POLICY.iter().any(|key| key.is_spelled(name)))
    };
    let names: Vec<&str> = configuration.written().map(|(name, ..)| name).filter(|name| is_in_force(name)).collect();
    let settings = names.into_iter().filter_map(|name| configuration.named(name).ok().flatten());
    let lists = settings.filter(|setting| setting.value.trim() != "*").map(|setting| {
        let (users, groups) = setting.value.split_once(' ').unwrap_or((&setting.value, ""));
        let (users, groups) = (names_in(users), names_in(groups));
        AccessList { key: setting.name, origin: setting.origin, value: setting.value, users, groups }
    });
    lists.collect()
}

fn names_in(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Lists that mean something else than they look like.
#[must_use]
pub(crate) fn warnings(configuration: &Configuration) -> Vec<Warning> {
    let found = in_force(configuration).into_iter().filter_map(|list| {
        let remark = list.users_read_as_groups().or_else(|| list.admits_administrators_only())?;
        Some(list.warning(remark))
    });
    found.collect()
}

impl AccessList {
    #[must_use]
    pub(crate) fn warning(self, remark: String) -> Warning {
        Warning::Contradiction { key: self.key, value: self.value, origin: self.origin, remark }
    }

    /// `alice, bob`, or `alice bob carol`.
    fn users_read_as_groups(&self) -> Option<String> {
        let (users, groups) = self.value.split_once(' ')?;
        let is_continued = users.trim_end().ends_with(',') || groups.trim_start().starts_with(',');
        let has_blanks = groups.trim().contains(' ') && !groups.contains(',');
        if self.groups.is_empty() || !(is_continued || has_blanks) {
            return None;
        }
        let groups: Vec<&str> = self.groups.iter().flat_map(|name| name.split_whitespace()).collect();
        let read = if let [group] = groups[..] {
            format!("{group} is read as a group")
        } else {
            format!("{} are read as groups", groups.join(", "))
        };
        let meant: Vec<&str> = self.users.iter().map(String::as_str).chain(groups).collect();
        Some(format!("has groups after the first blank: {read}; users are written {}", meant.join(",")))
    }

    /// A blank, as in Hadoop's own `mapred-queue-acls.xml`.
    fn admits_administrators_only(&self) -> Option<String> {
        let is_blank = self.users.is_empty() && self.groups.is_empty();
        let is_of_submissions = keys::QUEUE_ACL_SUBMIT.is_spelled(&self.key);
        (is_blank && is_of_submissions)
            .then(|| "is blank: only administrators may submit to this queue; `*` admits every user".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::test_options;
    use super::*;

    fn texts(overrides: &[&str]) -> Vec<String> {
        let configuration = test_options(None, overrides).configuration().unwrap();
        warnings(&configuration).iter().map(ToString::to_string).collect()
    }

    const ON: &str = "mapred.acls.enabled=true";

    #[test]
    fn lists_that_shut_users_out_unseen_are_named() {
        let submit = |list: &str| texts(&[ON, &format!("mapred.queue.default.acl-submit-job={list}")]).join("; ");
        insta::assert_snapshot!([submit("alice, bob"), submit("alice ,bob"), submit("alice bob carol"), submit(" ")].join("\n"), @r#"
        -D: mapred.queue.default.acl-submit-job = "alice, bob" has groups after the first blank: bob is read as a group; users are written alice,bob
        -D: mapred.queue.default.acl-submit-job = "alice ,bob" has groups after the first blank: bob is read as a group; users are written alice,bob
        -D: mapred.queue.default.acl-submit-job = "alice bob carol" has groups after the first blank: bob, carol are read as groups; users are written alice,bob,carol
        -D: mapred.queue.default.acl-submit-job = " " is blank: only administrators may submit to this queue; `*` admits every user
        "#);
        let administrators = texts(&["mapreduce.cluster.administrators=root, ops"]);
        assert!(administrators[0].contains("ops is read as a group"), "{administrators:?}");
    }

    #[test]
    fn lists_that_say_what_they_mean_are_not() {
        for list in ["*", "alice,bob", "alice,bob ops,dev", " ops", "alice ops, dev"] {
            assert_eq!(texts(&[ON, &format!("mapred.queue.default.acl-submit-job={list}")]), [""; 0], "{list}");
        }
        assert_eq!(texts(&["mapred.queue.default.acl-submit-job= "]), [""; 0], "lists are off");
        assert_eq!(texts(&[ON, "mapred.queue.default.acl-administer-jobs= "]), [""; 0]);
    }
}
