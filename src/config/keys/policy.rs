//! Lists of protocols in `hadoop-policy.xml` (1.2.1 `MapReducePolicyProvider`).

use super::ValueKind::Text;
use super::keys;

keys! {
    POLICY;
    JOB_SUBMISSION_ACL = "security.job.submission.protocol.acl", Text, Some("*"),
        "Who may connect as a job client.";
    INTER_TRACKER_ACL = "security.inter.tracker.protocol.acl", Text, Some("*"),
        "Who may connect as a TaskTracker.";
    TASK_UMBILICAL_ACL = "security.task.umbilical.protocol.acl", Text, Some("*"),
        "Who may connect as a task. A JobTracker serves no call of tasks.";
    ADMIN_OPERATIONS_ACL = "security.admin.operations.protocol.acl", Text, Some("*"),
        "Who may run `mradmin -refreshQueues`, `-refreshNodes` and `-safemode`.";
    REFRESH_USER_MAPPINGS_ACL = "security.refresh.usertogroups.mappings.protocol.acl", Text, Some("*"),
        "Who may run `mradmin -refreshUserToGroupsMappings` and `-refreshSuperUserGroupsConfiguration`.";
    REFRESH_POLICY_ACL = "security.refresh.policy.protocol.acl", Text, Some("*"),
        "Who may run `mradmin -refreshServiceAcl`.";
}
