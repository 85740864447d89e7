//! Service-level authorization: the lists of `hadoop-policy.xml` (1.2.1 `ServiceAuthorizationManager`, `MapReducePolicyProvider`).

use std::path::Path;

use super::conf_folder::read_optional;
use super::configuration::Configuration;
use super::error::ConfigError;
use super::keys;
use super::keys::Key;

/// The file, in the conf folder.
const POLICY_FILE: &str = "hadoop-policy.xml";

/// Lists of other daemons in the same file.
const OF_OTHERS: [&str; 5] = [
    "security.client.protocol.acl",
    "security.client.datanode.protocol.acl",
    "security.datanode.protocol.acl",
    "security.inter.datanode.protocol.acl",
    "security.namenode.protocol.acl",
];

/// Who may use which protocol: each list is `*` or `user,user group,group`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServicePolicy {
    /// TaskTrackers, and workers that report containers.
    pub(crate) inter_tracker: String,
    pub(crate) job_submission: String,
    /// Processes of tasks. No call of that protocol is served.
    pub(crate) task_umbilical: String,
    /// `mradmin -refreshServiceAcl`.
    pub(crate) refresh_policy: String,
    /// `mradmin -refreshUserToGroupsMappings` and `-refreshSuperUserGroupsConfiguration`.
    pub(crate) refresh_user_mappings: String,
    /// `mradmin -refreshQueues`, `-refreshNodes` and `-safemode`.
    pub(crate) admin_operations: String,
}

impl ServicePolicy {
    /// Reads the lists from the configuration and from the policy file of the conf folder; none while
    /// `hadoop.security.authorization` is false. A list that is not there names all.
    /// Errors: a file cannot be read, a key of a list is not one of Hadoop, a name has a blank inside.
    pub(super) fn read(mut configuration: Configuration, conf_dir: Option<&Path>) -> Result<Option<Self>, ConfigError> {
        if !configuration.flag(&keys::SECURITY_AUTHORIZATION)? {
            return Ok(None);
        }
        if let Some(folder) = conf_dir {
            let path = folder.join(POLICY_FILE);
            let file = path.display().to_string();
            if let Some(bytes) = read_optional(&path, &file)? {
                configuration.add_file(&file, &bytes)?;
            }
        }
        check_names(&configuration)?;
        let list = |key| list(&configuration, key);
        Ok(Some(Self {
            inter_tracker: list(&keys::INTER_TRACKER_ACL)?,
            job_submission: list(&keys::JOB_SUBMISSION_ACL)?,
            task_umbilical: list(&keys::TASK_UMBILICAL_ACL)?,
            refresh_policy: list(&keys::REFRESH_POLICY_ACL)?,
            refresh_user_mappings: list(&keys::REFRESH_USER_MAPPINGS_ACL)?,
            admin_operations: list(&keys::ADMIN_OPERATIONS_ACL)?,
        }))
    }
}

/// A mistyped key would leave its list open to all.
fn check_names(configuration: &Configuration) -> Result<(), ConfigError> {
    let is_list = |name: &str| name.starts_with("security.") && name.ends_with(".acl");
    let is_known = |name: &str| OF_OTHERS.contains(&name) || keys::POLICY.iter().any(|key| key.is_spelled(name));
    let names = configuration.written().map(|(name, _, _)| name).filter(|name| is_list(name) && !is_known(name));
    for name in names {
        if let Some(setting) = configuration.named(name)? {
            let known: Vec<&str> = keys::POLICY.iter().map(|key| key.name).collect();
            return Err(setting.bad_value(format!("one of the keys {}", known.join(", "))));
        }
    }
    Ok(())
}

fn list(configuration: &Configuration, key: &Key) -> Result<String, ConfigError> {
    let Some(setting) = configuration.setting(key)? else { return Ok("*".to_owned()) };
    let value = &setting.value;
    if value.trim() == "*" {
        return Ok("*".to_owned());
    }
    let (users, groups) = value.split_once(' ').unwrap_or((value, ""));
    let is_name = |name: &str| name != "*" && !name.trim().contains(char::is_whitespace);
    match users.split(',').chain(groups.split(',')).all(|name| is_name(name.trim())) {
        true => Ok(value.clone()),
        false => Err(setting.bad_value("user,user group,group: names without blanks, or * alone")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::reread::service_policy;
    use super::super::settings::test_options;
    use super::*;

    fn read(policy: &str, set: &[&str]) -> Result<Option<ServicePolicy>, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(POLICY_FILE), format!("<configuration>\n{policy}</configuration>")).unwrap();
        let name = folder.path().display().to_string();
        let read = service_policy(&test_options(Some(folder.path()), set));
        read.map_err(|error| error.to_string().replace(&name, "CONF"))
    }

    fn property(name: &str, value: &str) -> String {
        format!("<property><name>{name}</name><value>{value}</value></property>\n")
    }

    const ON: &str = "hadoop.security.authorization=true";

    #[test]
    fn lists_that_are_not_there_name_all() {
        let policy = property("security.job.submission.protocol.acl", "alice,bob ops");
        assert_eq!(read(&policy, &[]), Ok(None));
        let read = read(&policy, &[ON]).unwrap().unwrap();
        assert_eq!((&*read.job_submission, &*read.admin_operations), ("alice,bob ops", "*"));
    }

    #[test]
    fn a_slip_is_named_with_its_place() {
        let of = |name, value| read(&property(name, value), &[ON]).unwrap_err();
        let found = [
            of("security.job.submision.protocol.acl", "alice"),
            of("security.job.submission.protocol.acl", "alice ops dev"),
            of("security.admin.operations.protocol.acl", "alice,*"),
        ];
        insta::assert_snapshot!(found.join("\n"), @r#"
        CONF/hadoop-policy.xml:2: security.job.submision.protocol.acl = "alice": expected one of the keys security.job.submission.protocol.acl, security.inter.tracker.protocol.acl, security.task.umbilical.protocol.acl, security.admin.operations.protocol.acl, security.refresh.usertogroups.mappings.protocol.acl, security.refresh.policy.protocol.acl
        CONF/hadoop-policy.xml:2: security.job.submission.protocol.acl = "alice ops dev": expected user,user group,group: names without blanks, or * alone
        CONF/hadoop-policy.xml:2: security.admin.operations.protocol.acl = "alice,*": expected user,user group,group: names without blanks, or * alone
        "#);
        assert!(read("<property>", &[ON]).unwrap_err().contains("CONF/hadoop-policy.xml"));
        assert!(read(&property("security.client.protocol.acl", "alice"), &[ON]).is_ok(), "a NameNode's");
        assert!(read(&property("security.job.submission.protocol.acl", " ops, dev"), &[ON]).is_ok());
    }
}
