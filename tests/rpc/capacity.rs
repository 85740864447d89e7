//! The Capacity scheduler over RPC: its texts and refusals, and its file read again.

use std::path::Path;

use crate::daemon::clients::{IntoCall, new_job_id, submit};
use crate::daemon::in_process::{DaemonOptions, InProcessDaemon, with_daemon};

use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::wire::protocol::{AdminOperationsCall, Call, JobSubmissionCall, Value};

fn write_configuration(path: &Path, keys: &[(&str, &str)]) {
    let property =
        |(name, value): &(&str, &str)| format!("<property><name>{name}</name><value>{value}</value></property>\n");
    let properties: String = keys.iter().map(property).collect();
    std::fs::write(path, format!("<configuration>\n{properties}</configuration>\n")).unwrap();
}

/// The shares of the queues `default` and `night`, and how many tasks a user may have active.
fn write_shares(folder: &Path, default: &str, night: &str, tasks: &str) {
    let keys = [
        ("mapred.capacity-scheduler.queue.default.capacity", default),
        ("mapred.capacity-scheduler.queue.night.capacity", night),
        ("mapred.capacity-scheduler.default-maximum-active-tasks-per-user", tasks),
    ];
    write_configuration(&folder.join("capacity-scheduler.xml"), &keys);
}

fn conf_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let site = [
        ("mapred.job.tracker", "127.0.0.1:8021"),
        ("mapred.jobtracker.taskScheduler", "org.apache.hadoop.mapred.CapacityTaskScheduler"),
        ("mapred.queue.names", "default,night"),
    ];
    write_configuration(&folder.path().join("mapred-site.xml"), &site);
    write_shares(folder.path(), "60", "40", "4");
    folder
}

/// The scheduling information of a queue.
async fn information(client: &mut IpcClient, queue: &str) -> String {
    match client.call(&JobSubmissionCall::GetQueueInfo { queue: Some(queue.to_owned()) }.into_call()).await.unwrap() {
        Value::QueueInfo(Some(info)) => info.scheduling_info.to_string(),
        other => panic!("{other:?}"),
    }
}

async fn refused(client: &mut IpcClient, call: &Call) -> String {
    match client.call(call).await {
        Err(IpcError::Remote { exception, fatal: false }) => exception.message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn refresh_queues_reads_the_file_of_the_scheduler_all_of_it_or_nothing() {
    let folder = conf_folder();
    let options = DaemonOptions { conf_dir: Some(folder.path().to_owned()), ..DaemonOptions::default() };
    with_daemon(options, async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let mut administrator = rig.administrator("mapred").await;
        let text = information(&mut client, "night").await;
        assert!(text.starts_with("Queue configuration\nCapacity Percentage: 40.0%\n"), "{text}");

        let id = new_job_id(&mut client).await;
        let directory = rig.stage("alice", id, &[("mapred.map.tasks", "5"), ("mapred.job.queue.name", "night")], 5);
        let text = refused(&mut client, &submit(id, directory)).await;
        let limit = "exceeds the limit of 4 tasks per-user which can be initialized for queue 'night'";
        assert!(text.contains(limit), "{text}");

        write_shares(folder.path(), "60", "50", "6");
        let refresh = AdminOperationsCall::RefreshQueues.into_call();
        let text = refused(&mut administrator, &refresh).await;
        assert!(text.contains("Sum of queue capacities not 100% at 110.0"), "{text}");
        assert!(text.contains("capacity-scheduler.xml"), "{text}");
        assert!(information(&mut client, "night").await.contains("Percentage: 40.0%\n"));

        write_shares(folder.path(), "50", "50", "6");
        assert_eq!(administrator.call(&refresh).await.unwrap(), Value::Void);
        assert!(information(&mut client, "night").await.contains("Percentage: 50.0%\n"));
        let id = new_job_id(&mut client).await;
        let directory = rig.stage("alice", id, &[("mapred.map.tasks", "5"), ("mapred.job.queue.name", "night")], 5);
        assert!(matches!(client.call(&submit(id, directory)).await.unwrap(), Value::JobStatus(Some(_))));
    });
}
