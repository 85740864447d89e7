//! What administrators ask over RPC, from the files that are read to what everybody else is answered afterwards.

use crate::daemon::clients::{IntoCall, new_job_id, submit};
use crate::daemon::in_process::{DaemonOptions, InProcessDaemon, with_daemon};
use crate::daemon::scripted_tracker::ScriptedTracker;

use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::wire::protocol::{
    AdminOperationsCall, Call, InterTrackerCall, JobSubmissionCall, Protocol, RefreshAuthorizationPolicyCall,
    RefreshUserMappingsCall, SafeModeAction, Value,
};

fn wanted(overrides: &[&str]) -> DaemonOptions {
    DaemonOptions { overrides: overrides.iter().map(|pair| (*pair).to_owned()).collect(), ..DaemonOptions::default() }
}

/// Class and text of the refusal.
async fn refused(client: &mut IpcClient, call: impl IntoCall) -> (String, String) {
    match client.call(&call.into_call()).await {
        Err(IpcError::Remote { exception, fatal: false }) => (exception.class, exception.message),
        other => panic!("{other:?}"),
    }
}

fn safe_mode(action: SafeModeAction) -> AdminOperationsCall {
    AdminOperationsCall::SetSafeMode { action }
}

#[test]
fn safe_mode_closes_what_leads_to_new_jobs() {
    with_daemon(wanted(&[]), async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let mut tracker = rig.tracker_client().await;
        let mut administrator = rig.administrator("mapred").await;
        let enter = safe_mode(SafeModeAction::Enter).into_call();
        assert_eq!(administrator.call(&enter).await.unwrap(), Value::Boolean(true));
        let system_dir = JobSubmissionCall::GetSystemDir.into_call();
        assert_eq!(client.call(&system_dir).await.unwrap(), Value::String(None));
        let of_tracker = InterTrackerCall::GetSystemDir.into_call();
        assert_eq!(tracker.call(&of_tracker).await.unwrap(), Value::String(None), "a tracker that starts waits");
        let class = "org.apache.hadoop.mapred.SafeModeException".to_owned();
        let text = format!("{class}: JobTracker is in safe-mode set by admin mapred");
        assert_eq!(refused(&mut client, JobSubmissionCall::GetStagingAreaDir).await, (class.clone(), text.clone()));
        let id = new_job_id(&mut client).await;
        let directory = rig.stage("alice", id, &[("mapred.map.tasks", "1")], 1);
        match client.call(&submit(id, directory.clone())).await {
            Err(IpcError::Remote { exception, .. }) => assert_eq!((exception.class, exception.message), (class, text)),
            other => panic!("{other:?}"),
        }
        let leave = safe_mode(SafeModeAction::Leave).into_call();
        assert_eq!(administrator.call(&leave).await.unwrap(), Value::Boolean(false));
        assert!(matches!(client.call(&submit(id, directory)).await.unwrap(), Value::JobStatus(Some(_))));
        assert!(matches!(client.call(&system_dir).await.unwrap(), Value::String(Some(_))));
    });
}

#[test]
fn members_of_a_group_are_known_by_the_machine() {
    with_daemon(wanted(&["mapreduce.cluster.administrators= root"]), async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut member = rig.administrator("root").await;
        let mut stranger = rig.administrator("no-such-user").await;
        let mut number = rig.administrator("0").await;
        let enter = safe_mode(SafeModeAction::Enter);
        let (class, _) = refused(&mut stranger, enter.clone()).await;
        assert_eq!(class, "org.apache.hadoop.security.AccessControlException");
        refused(&mut number, enter.clone()).await;
        assert_eq!(member.call(&enter.into_call()).await.unwrap(), Value::Boolean(true));
        let get = safe_mode(SafeModeAction::Get).into_call();
        assert_eq!(stranger.call(&get).await.unwrap(), Value::Boolean(true), "everybody may know");
    });
}

#[test]
fn lists_of_hosts_are_read_when_an_administrator_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let excluded = folder.path().join("excluded");
    std::fs::write(&excluded, "").unwrap();
    let key = format!("mapred.hosts.exclude={}", excluded.display());
    with_daemon(wanted(&[&key]), async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut tracker = ScriptedTracker::new();
        let mut tracker_client = rig.tracker_client().await;
        let answer = tracker_client.call(&tracker.heartbeat()).await.unwrap();
        tracker.obey(answer);
        let mut client = rig.client("alice").await;
        let mut administrator = rig.administrator("mapred").await;
        let trackers = async |client: &mut IpcClient| match client
            .call(&JobSubmissionCall::GetClusterStatus { detailed: true }.into_call())
            .await
            .unwrap()
        {
            Value::ClusterStatus(status) => (status.active.count, status.excluded_nodes),
            other => panic!("{other:?}"),
        };
        std::fs::write(&excluded, format!("elsewhere {}\n", tracker.fake.host)).unwrap();
        let mut stranger = rig.administrator("alice").await;
        let (class, _) = refused(&mut stranger, AdminOperationsCall::RefreshNodes).await;
        assert_eq!(class, "org.apache.hadoop.security.AccessControlException");
        assert_eq!(trackers(&mut client).await, (1, 0));
        administrator.call(&AdminOperationsCall::RefreshNodes.into_call()).await.unwrap();
        assert_eq!(trackers(&mut client).await, (0, 2));
        match tracker_client.call(&tracker.heartbeat()).await {
            Err(IpcError::Remote { exception, .. }) => {
                assert_eq!(exception.class, "org.apache.hadoop.mapred.DisallowedTaskTrackerException");
            }
            other => panic!("{other:?}"),
        }
        // A list that is gone does not let everybody in.
        std::fs::remove_file(&excluded).unwrap();
        let (_, text) = refused(&mut administrator, AdminOperationsCall::RefreshNodes).await;
        assert!(text.contains("mapred.hosts.exclude") && text.contains("stay in force"), "{text}");
        assert_eq!(trackers(&mut client).await, (0, 2));
    });
}

#[test]
fn the_other_things_read_anew_are_answered_as_hadoop_does() {
    with_daemon(wanted(&[]), async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut mappings = IpcClient::connect(rig.address, Protocol::RefreshUserMappings, "alice").await.unwrap();
        for call in [
            RefreshUserMappingsCall::RefreshUserToGroupsMappings,
            RefreshUserMappingsCall::RefreshSuperUserGroupsConfiguration,
        ] {
            assert_eq!(mappings.call(&Call::RefreshUserMappings(call)).await.unwrap(), Value::Void);
        }
        let mut policy = IpcClient::connect(rig.address, Protocol::RefreshAuthorizationPolicy, "alice").await.unwrap();
        let call = Call::RefreshAuthorizationPolicy(RefreshAuthorizationPolicyCall::RefreshServiceAcl);
        match policy.call(&call).await {
            Err(IpcError::Remote { exception, .. }) => {
                assert_eq!(exception.class, "org.apache.hadoop.security.authorize.AuthorizationException");
                assert_eq!(exception.message, "");
            }
            other => panic!("{other:?}"),
        }
        let mut administrator = rig.administrator("alice").await;
        let refresh = AdminOperationsCall::RefreshQueues.into_call();
        assert_eq!(administrator.call(&refresh).await.unwrap(), Value::Void);
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the pace is what is shown")]
fn files_are_read_once_a_second_for_all_who_ask() {
    with_daemon(wanted(&[]), async |rig: InProcessDaemon| {
        rig.gate.open();
        let began = std::time::Instant::now();
        let mut asking = Vec::new();
        for number in 0..20 {
            let mut client = rig.administrator(&format!("user{number}")).await;
            asking.push(tokio::task::spawn_local(async move {
                for _ in 0..3 {
                    let refresh = AdminOperationsCall::RefreshQueues.into_call();
                    assert_eq!(client.call(&refresh).await.unwrap(), Value::Void);
                }
            }));
        }
        // Others are answered meanwhile.
        new_job_id(&mut rig.client("alice").await).await;
        assert!(asking.iter().any(|asked| !asked.is_finished()));
        for asked in asking {
            asked.await.unwrap();
        }
        // Three runs, the first one at once.
        assert!(began.elapsed() >= std::time::Duration::from_millis(1_900), "{:?}", began.elapsed());
    });
}
