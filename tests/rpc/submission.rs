//! A submission that is refused leaves nothing behind, and says why.

use std::path::Path;

use crate::daemon::clients::{IntoCall, new_job_id, submit};
use crate::daemon::in_process::{DaemonOptions, InProcessDaemon, with_daemon};
use crate::daemon::scripted_tracker::ScriptedTracker;

use jobtracker::clock::wall_ms;
use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::market::Key;
use jobtracker::market::signature::{job_message, sign};
use jobtracker::model::{AttemptState, JobId, RunState};
use jobtracker::web::Owner as _;
use jobtracker::wire::file::{SplitMeta, read_token_storage, write_split_meta};
use jobtracker::wire::protocol::{JobSubmissionCall, Value};
use jobtracker::wire::{Counter, CounterGroup, Counters};

const MAPS: (&str, &str) = ("mapred.map.tasks", "2");

/// Class and first line of the refusal.
async fn refused(client: &mut IpcClient, id: JobId, directory: String) -> (String, String) {
    match client.call(&submit(id, directory)).await {
        Err(IpcError::Remote { exception, fatal: false }) => (exception.class, exception.message),
        other => panic!("{other:?}"),
    }
}

/// No trace of the job: no system directory, no job.
async fn assert_nothing_left(rig: &InProcessDaemon, client: &mut IpcClient, id: JobId) {
    assert_eq!(entries(&rig.system_dir()), Vec::<String>::new());
    let status = JobSubmissionCall::GetJobStatus { job: Some(id) }.into_call();
    assert_eq!(client.call(&status).await.unwrap(), Value::JobStatus(None));
    let all = client.call(&JobSubmissionCall::GetAllJobs.into_call()).await.unwrap();
    assert_eq!(all, Value::JobStatuses(Vec::new()));
}

fn entries(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn files_that_cannot_be_taken_are_named() {
    let overrides = vec!["mapred.user.jobconf.limit=2000".to_owned()];
    with_daemon(DaemonOptions { overrides, ..DaemonOptions::default() }, async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let good = rig.stage("alice", id, &[MAPS], 2);
        let folder = rig.staging_dir("alice").join(id.to_string());
        let (xml, meta) = (folder.join("job.xml"), folder.join("job.splitmetainfo"));
        let (good_xml, good_meta) = (std::fs::read(&xml).unwrap(), std::fs::read(&meta).unwrap());
        let bad: [(&Path, &[u8], &[&str]); 7] = [
            (&xml, b"this is not XML", &["job.xml"]),
            (&xml, b"<configuration><property>", &["job.xml"]),
            (&xml, &[b' '; 2_001], &["job.xml", "2000"]),
            (
                &xml,
                b"<configuration><property><name>user.name</name><value>bob</value></property></configuration>",
                &["job.xml", "user.name", "bob", "alice"],
            ),
            (
                &xml,
                b"<configuration><property><name>mapred.map.tasks</name><value>3</value></property></configuration>",
                &["job.splitmetainfo", "2 splits", "3", "mapred.map.tasks"],
            ),
            (&meta, &good_meta[..good_meta.len() - 1], &["job.splitmetainfo"]),
            (&meta, b"META-SPLIT", &["job.splitmetainfo"]),
        ];
        for (path, content, expected) in bad {
            std::fs::write(path, content).unwrap();
            let (class, text) = refused(&mut client, id, good.clone()).await;
            assert_eq!(class, "java.io.IOException");
            assert!(text.starts_with("java.io.IOException: "), "{text}");
            for expected in expected {
                assert!(text.contains(expected), "{expected} in {text}");
            }
            assert_nothing_left(&rig, &mut client, id).await;
            std::fs::write(&xml, &good_xml).unwrap();
            std::fs::write(&meta, &good_meta).unwrap();
        }
        for path in [&xml, &meta] {
            std::fs::rename(path, folder.join("away")).unwrap();
            let (_, text) = refused(&mut client, id, good.clone()).await;
            assert!(text.contains(path.to_str().unwrap()) && text.contains("No such file"), "{text}");
            assert_nothing_left(&rig, &mut client, id).await;
            std::fs::rename(folder.join("away"), path).unwrap();
        }
        // The same id is good once the files are.
        let accepted = client.call(&submit(id, good)).await.unwrap();
        assert!(matches!(accepted, Value::JobStatus(Some(status)) if status.id == id));
    });
}

#[test]
fn directories_that_are_not_the_jobs_are_refused() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let good = rig.stage("alice", id, &[MAPS], 2);
        for directory in ["", "relative", "/", "/etc", "hdfs://n1:8020/staging/x", "file:///nowhere"] {
            let (_, text) = refused(&mut client, id, directory.to_owned()).await;
            assert!(text.contains(&id.to_string()) || text.contains("not supported yet"), "{text}");
            assert_nothing_left(&rig, &mut client, id).await;
        }
        // Nor is another place, another user's or a path that leads out by its text; what is refused is not repeated without end.
        for directory in [
            good.replace(".staging", ".gone"),
            good.replace("alice", "bob"),
            good.replace(".staging", ".staging/../../bob/.staging"),
            format!("{}/{id}", "/long".repeat(100)),
        ] {
            let (_, text) = refused(&mut client, id, directory.clone()).await;
            assert!(text.contains(&format!("/alice/.staging/{id} (mapreduce.jobtracker.staging.root.dir)")), "{text}");
            assert!(directory.len() < 500 || text.len() < 400, "{text}");
            assert_nothing_left(&rig, &mut client, id).await;
        }
        let folder = rig.staging_dir("alice").join(id.to_string());
        std::fs::rename(&folder, folder.with_file_name("away")).unwrap();
        let (_, text) = refused(&mut client, id, good.clone()).await;
        assert!(text.contains("No such file"), "{text}");
        std::fs::rename(folder.with_file_name("away"), &folder).unwrap();
        // An id that this JobTracker has not given out.
        let foreign = JobId::new(id.identifier, 999);
        let directory = rig.stage("alice", foreign, &[MAPS], 2);
        let (_, text) = refused(&mut client, foreign, directory).await;
        assert!(text.contains("job_"), "{text}");
        assert_nothing_left(&rig, &mut client, id).await;
    });
}

#[test]
fn unknown_queues_and_too_many_tasks_are_refused_by_the_engine() {
    let overrides = vec!["mapred.jobtracker.maxtasks.per.job=3".to_owned()];
    with_daemon(DaemonOptions { overrides, ..DaemonOptions::default() }, async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let directory = rig.stage("alice", id, &[MAPS, ("mapred.job.queue.name", "zed")], 2);
        let (_, text) = refused(&mut client, id, directory).await;
        assert!(text.contains("Queue \"zed\" does not exist"), "{text}");
        assert_nothing_left(&rig, &mut client, id).await;
        let directory = rig.stage("alice", id, &[MAPS, ("mapred.reduce.tasks", "2")], 2);
        let (_, text) = refused(&mut client, id, directory).await;
        assert!(text.contains('3') && text.contains('4'), "{text}");
        assert_nothing_left(&rig, &mut client, id).await;
    });
}

#[test]
fn limits_on_files_are_told_in_the_words_people_know() {
    let limits = [
        ("mapred.user.jobconf.limit=50", "Exceeded max jobconf size: ", " limit: 50 "),
        ("mapreduce.jobtracker.split.metainfo.maxsize=20", "Split metadata size exceeded 20. Aborting job job_", ""),
        (
            "mapreduce.job.max.split.locations=1",
            "Max block location exceeded for split: #0 splitsize: 2 maxsize: 1 ",
            "job.splitmetainfo",
        ),
    ];
    for (limit, words, more) in limits {
        let overrides = vec![limit.to_owned()];
        with_daemon(DaemonOptions { overrides, ..DaemonOptions::default() }, async move |rig: InProcessDaemon| {
            rig.gate.open();
            let mut client = rig.client("alice").await;
            let id = new_job_id(&mut client).await;
            let directory = rig.stage("alice", id, &[MAPS], 2);
            let split =
                |offset_bytes| SplitMeta { locations: vec!["n1".into(), "n2".into()], offset_bytes, length_bytes: 100 };
            let meta = rig.staging_dir("alice").join(id.to_string()).join("job.splitmetainfo");
            std::fs::write(meta, write_split_meta(&[split(7), split(57)])).unwrap();
            let (class, text) = refused(&mut client, id, directory).await;
            assert_eq!(class, "java.io.IOException");
            assert!(text.starts_with(&format!("java.io.IOException: {words}")) && text.contains(more), "{text}");
            let key = limit.split_once('=').unwrap().0;
            assert!(text.contains(key), "{key} in {text}");
            assert_nothing_left(&rig, &mut client, id).await;
        });
    }
}

#[test]
fn counters_beyond_the_limit_are_an_error_in_the_words_people_know() {
    // The older name of the key wins.
    let overrides = vec!["mapreduce.job.counters.max=100".to_owned(), "mapreduce.job.counters.limit=1".to_owned()];
    with_daemon(DaemonOptions { overrides, ..DaemonOptions::default() }, async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let directory = rig.stage("alice", id, &[("mapred.map.tasks", "1"), ("mapred.reduce.tasks", "0")], 1);
        client.call(&submit(id, directory)).await.unwrap();
        let counters = JobSubmissionCall::GetJobCounters { job: Some(id) }.into_call();
        let counter = |name: &str| Counter { name: name.into(), display_name: None, value: 1 };
        let group =
            CounterGroup { name: "g".into(), display_name: "g".into(), counters: vec![counter("a"), counter("b")] };
        assert!(client.call(&counters).await.is_ok(), "nothing has been counted");
        let mut tracker = ScriptedTracker::new();
        let mut line = rig.tracker_client().await;
        for _ in 0..6 {
            tracker.all_are(AttemptState::Succeeded);
            for attempt in &mut tracker.fake.attempts {
                attempt.plan.counters = Some((&Counters { groups: vec![group.clone()] }).into());
            }
            let heartbeat = tracker.heartbeat();
            tracker.obey(line.call(&heartbeat).await.unwrap());
        }
        match client.call(&counters).await {
            Err(IpcError::Remote { exception, fatal: false }) => {
                assert_eq!(exception.class, "java.io.IOException");
                assert_eq!(exception.message, "java.io.IOException: Counters Exceeded limit: 1");
            }
            other => panic!("{other:?}"),
        }
        let status = JobSubmissionCall::GetJobStatus { job: Some(id) }.into_call();
        let Value::JobStatus(Some(status)) = client.call(&status).await.unwrap() else { panic!("no status") };
        assert_eq!((status.run_state, &*status.failure_info), (RunState::Failed, "Counters Exceeded: Limit: 1"));
    });
}

#[test]
fn what_is_accepted_has_its_token_and_a_repetition_changes_nothing() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let directory = rig.stage("alice", id, &[MAPS], 2);
        client.call(&submit(id, directory.clone())).await.unwrap();
        let folder = rig.system_dir().join(id.to_string());
        let mut names = entries(&folder);
        names.sort();
        assert_eq!(names, ["job-info", "jobToken"]);
        let token = std::fs::read(folder.join("jobToken")).unwrap();
        let credentials = read_token_storage(&token).unwrap();
        assert_eq!(&*credentials.tokens[0].0, "ShuffleAndJobToken");
        assert_eq!(credentials.tokens[0].1.password.len(), 20);
        use std::os::unix::fs::PermissionsExt;
        for (path, mode) in [(folder.clone(), 0o700), (folder.join("jobToken"), 0o600)] {
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode, "{}", path.display());
        }
        // A client that has not received the answer calls again.
        client.call(&submit(id, directory)).await.unwrap();
        assert_eq!(std::fs::read(folder.join("jobToken")).unwrap(), token);
    });
}

#[test]
fn a_system_directory_that_cannot_be_written_refuses_and_is_retried() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let directory = rig.stage("alice", id, &[MAPS], 2);
        // Something else stands where the system directory should be.
        std::fs::create_dir_all(rig.system_dir().parent().unwrap()).unwrap();
        let _ = std::fs::remove_dir_all(rig.system_dir());
        std::fs::write(rig.system_dir(), "in the way").unwrap();
        let (_, text) = refused(&mut client, id, directory.clone()).await;
        assert!(text.contains(rig.system_dir().to_str().unwrap()), "{text}");
        std::fs::remove_file(rig.system_dir()).unwrap();
        assert_nothing_left(&rig, &mut client, id).await;
        // Its files are gone, too: many stock clients would leave them.
        client.call(&submit(id, rig.stage("alice", id, &[MAPS], 2))).await.unwrap();
    });
}

#[test]
fn unsigned_and_wrongly_signed_jobs_are_denied_with_the_reason() {
    let wanted = DaemonOptions {
        acl: Some("alice user alicekey\nbob user bobkey\n"),
        budgets: "alice 100 1\nbob 100 1\n",
        ..DaemonOptions::default()
    };
    with_daemon(wanted, async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let signed = |key: &str, timestamp: &str| sign(&job_message("alice", timestamp), &Key::new(key));
        let now = (wall_ms() + 1_000).to_string();
        let old = "1000".to_owned();
        let queue = ("mapreduce.job.queue.name", "alice");
        let (wrong, stale, good) = (signed("bobkey", &now), signed("alicekey", &old), signed("alicekey", &now));
        let denied: [&[(&str, &str)]; 5] = [
            &[MAPS, queue],
            &[MAPS, queue, ("mapred.job.timestamp", &now)],
            &[MAPS, queue, ("mapred.job.timestamp", &now), ("mapred.job.signature", &wrong)],
            &[MAPS, queue, ("mapred.job.timestamp", &old), ("mapred.job.signature", &stale)],
            &[
                MAPS,
                ("mapreduce.job.queue.name", "bob"),
                ("mapred.job.timestamp", &now),
                ("mapred.job.signature", &good),
            ],
        ];
        for properties in denied {
            let directory = rig.stage("alice", id, properties, 2);
            let (class, text) = refused(&mut client, id, directory).await;
            assert_eq!(class, "org.apache.hadoop.security.AccessControlException");
            let text = text.strip_prefix("org.apache.hadoop.security.AccessControlException: ").expect("the class");
            assert!(text.starts_with("ACCESS DENIED: "), "{text}");
            assert_nothing_left(&rig, &mut client, id).await;
            // Many stock clients leave their staging directory when they are refused.
            assert_eq!(entries(&rig.staging_dir("alice")), Vec::<String>::new());
        }
        let properties = [MAPS, queue, ("mapred.job.timestamp", &now), ("mapred.job.signature", &good)];
        let directory = rig.stage("alice", id, &properties, 2);
        client.call(&submit(id, directory)).await.unwrap();
        // The signature is used up.
        let second = new_job_id(&mut client).await;
        let directory = rig.stage("alice", second, &properties, 2);
        let (_, text) = refused(&mut client, second, directory).await;
        assert!(text.contains("ACCESS DENIED: "), "{text}");
    });
}

/// A signature that is good now, and its timestamp.
fn signed(user: &str) -> (String, String) {
    let now = (wall_ms() + 1_000).to_string();
    let signature = sign(&job_message(user, &now), &Key::new(&format!("{user}key")));
    (now, signature)
}

fn market() -> DaemonOptions {
    DaemonOptions {
        acl: Some("alice user alicekey\nbob user bobkey\n"),
        budgets: "alice 100 1\nbob 100 1\n",
        ..DaemonOptions::default()
    }
}

/// What alice's job says that is signed so.
fn good_job<'a>(timestamp: &'a str, signature: &'a str) -> [(&'a str, &'a str); 4] {
    [MAPS, ("mapred.job.queue.name", "alice"), ("mapred.job.timestamp", timestamp), ("mapred.job.signature", signature)]
}

#[test]
fn nothing_but_job_xml_is_read_of_a_job_that_is_refused_by_it() {
    with_daemon(market(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let directory = rig.stage("alice", id, &[MAPS, ("mapreduce.job.queue.name", "alice")], 2);
        // Whoever opened it would say that there is none.
        std::fs::remove_file(rig.staging_dir("alice").join(id.to_string()).join("job.splitmetainfo")).unwrap();
        let (_, text) = refused(&mut client, id, directory).await;
        assert!(text.contains("ACCESS DENIED: missing signature"), "{text}");
        assert_nothing_left(&rig, &mut client, id).await;
        assert_eq!(entries(&rig.staging_dir("alice")), Vec::<String>::new());
    });
    let overrides = vec!["mapred.jobtracker.maxtasks.per.job=3".to_owned()];
    with_daemon(DaemonOptions { overrides, ..DaemonOptions::default() }, async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let cases: [(&[(&str, &str)], &str); 2] = [
            (&[MAPS, ("mapred.job.queue.name", "zed")], "Queue \"zed\" does not exist"),
            (&[MAPS, ("mapred.reduce.tasks", "2")], "exceeds the configured limit 3"),
        ];
        for (properties, expected) in cases {
            let directory = rig.stage("alice", id, properties, 2);
            std::fs::write(rig.staging_dir("alice").join(id.to_string()).join("job.splitmetainfo"), "bad").unwrap();
            let (_, text) = refused(&mut client, id, directory).await;
            assert!(text.contains(expected), "{text}");
            assert_nothing_left(&rig, &mut client, id).await;
        }
    });
}

#[test]
fn a_job_that_is_refused_for_another_reason_does_not_use_its_signature_up() {
    with_daemon(market(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let (timestamp, signature) = signed("alice");
        let good = good_job(&timestamp, &signature);
        let directory = rig.stage("alice", id, &good, 1);
        let (_, text) = refused(&mut client, id, directory).await;
        assert!(text.contains("1 splits"), "{text}");
        let directory = rig.stage("alice", id, &good, 2);
        client.call(&submit(id, directory)).await.unwrap();
    });
}

#[test]
fn refusals_show_nothing_of_the_clusters_configuration() {
    let overrides = vec!["some.service.password=hunter2".to_owned()];
    with_daemon(DaemonOptions { overrides, ..DaemonOptions::default() }, async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let attacks: [&[(&str, &str)]; 6] = [
            &[("mapred.job.priority", "${some.service.password}")],
            &[("mapred.job.priority", "${a}"), ("a", "${some.${b}.password}"), ("b", "service")],
            &[MAPS, ("mapred.job.queue.name", "${some.service.password}")],
            &[MAPS, ("user.name", "${some.service.password}")],
            &[MAPS, ("job.end.notification.url", "${some.service.password}")],
            &[MAPS, ("job.end.notification.url", "http://${some.service.password}:1/")],
        ];
        for properties in attacks {
            let directory = rig.stage("alice", id, properties, 2);
            let (_, text) = refused(&mut client, id, directory).await;
            assert!(!text.contains("hunter2"), "{text}");
        }
        let texts = ["mapred.job.name", "mapreduce.job.acl-view-job", "mapreduce.job.acl-modify-job"];
        let properties = texts.map(|key| (key, "${some.service.password}"));
        let directory = rig.stage("alice", id, &[&[MAPS], &properties[..]].concat(), 2);
        client.call(&submit(id, directory)).await.unwrap();
        let profile = client.call(&JobSubmissionCall::GetJobProfile { job: Some(id) }.into_call()).await.unwrap();
        let status = client.call(&JobSubmissionCall::GetJobStatus { job: Some(id) }.into_call()).await.unwrap();
        let shown = format!("{profile:?} {status:?} {:?}", rig.handle.overview().await.unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
    });
}

/// A program that prints racks once the file `go` exists, and notes each run in `runs`. It ends with its folder.
fn slow_racks(folder: &Path) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("racks");
    let script = format!(
        "#!/bin/sh\ncd {}\necho $# >> runs\nuntil [ -e go ] || [ ! -e racks ]; do sleep 0.01; done\nfor host; do echo /r; done\n",
        folder.display()
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("topology.script.file.name={}", path.display())
}

/// Puts splits on hosts of these addresses into a staged job.
fn put_on_hosts(rig: &InProcessDaemon, user: &str, id: JobId, hosts: &[String]) {
    let split = |offset_bytes| SplitMeta {
        locations: hosts.iter().map(|host| host.as_str().into()).collect(),
        offset_bytes,
        length_bytes: 100,
    };
    let meta = rig.staging_dir(user).join(id.to_string()).join("job.splitmetainfo");
    std::fs::write(meta, write_split_meta(&[split(7), split(57)])).unwrap();
}

#[test]
fn a_submission_whose_client_has_hung_up_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = DaemonOptions { overrides: vec![slow_racks(folder.path())], ..market() };
    with_daemon(wanted, async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let (timestamp, signature) = signed("alice");
        let directory = rig.stage("alice", id, &good_job(&timestamp, &signature), 2);
        put_on_hosts(&rig, "alice", id, &["10.0.0.1".to_owned()]);
        let call = submit(id, directory.clone());
        let asking = tokio::task::spawn_local(async move { client.call(&call).await.map(drop) });
        while !folder.path().join("runs").exists() {
            rig.settle().await;
        }
        asking.abort();
        // Now the same id is free again, and the signature has not been used up.
        let asking = loop {
            let asking = rig.ask(rig.client("alice").await, submit(id, directory.clone())).await;
            if !asking.is_answered() {
                break asking;
            }
        };
        assert!(entries(&rig.system_dir()).is_empty());
        std::fs::write(folder.path().join("go"), "").unwrap();
        let accepted = asking.answer().await;
        assert!(matches!(accepted, Value::JobStatus(Some(status)) if status.id == id));
    });
}

#[test]
fn jobs_on_made_up_hosts_keep_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = DaemonOptions { overrides: vec![slow_racks(folder.path())], ..DaemonOptions::default() };
    with_daemon(wanted, async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut attacks = Vec::new();
        for number in 0..34 {
            let user = format!("mallory{number}");
            let mut client = rig.client(&user).await;
            let id = new_job_id(&mut client).await;
            let directory = rig.stage(&user, id, &[MAPS], 2);
            let hosts: Vec<String> = (0..90).map(|host| format!("10.{number}.0.{host}")).collect();
            put_on_hosts(&rig, &user, id, &hosts);
            attacks.push(rig.ask(client, submit(id, directory)).await);
        }
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let directory = rig.stage("alice", id, &[MAPS], 2);
        put_on_hosts(&rig, "alice", id, &["10.99.0.1".to_owned()]);
        // The program prints nothing as long as this takes.
        let accepted = client.call(&submit(id, directory)).await.unwrap();
        assert!(matches!(accepted, Value::JobStatus(Some(status)) if status.id == id));
        std::fs::write(folder.path().join("go"), "").unwrap();
        for attack in attacks {
            attack.answer().await;
        }
        let runs = std::fs::read_to_string(folder.path().join("runs")).unwrap();
        assert!(runs.lines().all(|hosts| hosts.parse::<usize>().unwrap() <= 100), "{runs}");
    });
}

#[test]
fn nobody_submits_under_an_id_of_another_who_notices_nothing() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut alice = rig.client("alice").await;
        let mut bob = rig.client("bob").await;
        let id = new_job_id(&mut alice).await;
        let directory = rig.stage("bob", id, &[MAPS], 2);
        let (class, text) = refused(&mut bob, id, directory.clone()).await;
        assert_eq!(class, "org.apache.hadoop.security.AccessControlException");
        assert!(text.contains(&format!("{id} was given to another user than bob: ask for a new job id")), "{text}");
        // From another connection of hers, as stock clients come back after ten seconds of silence.
        let own = rig.stage("alice", id, &[MAPS], 2);
        rig.client("alice").await.call(&submit(id, own)).await.unwrap();
        let (_, text) = refused(&mut bob, id, directory).await;
        assert!(text.contains("another user"), "not even the job's status: {text}");
    });
}

#[test]
fn a_flood_of_ids_leaves_those_of_others_alone() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut alice = rig.client("alice").await;
        let id = new_job_id(&mut alice).await;
        let mut mallory = rig.client("mallory").await;
        let mut last = id.number;
        for _ in 0..25_000 {
            last = last.max(new_job_id(&mut mallory).await.number);
        }
        assert!(last <= 20_000, "numbers up to {last} are used up");
        let directory = rig.stage("alice", id, &[MAPS], 2);
        alice.call(&submit(id, directory)).await.unwrap();
    });
}
