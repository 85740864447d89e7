//! All subcommands of `jobtracker job` against our JobTracker.

use std::cell::Cell;
use std::rc::Rc;

use serde_json::Value as Json;

use crate::daemon::in_process::{DaemonOptions, InProcessDaemon, with_daemon};
use crate::job_client::workers::{Maps, work};
use crate::program::{job, job_command, said};

/// Makes input, and the arguments of a submission to the rig.
fn submission(rig: &InProcessDaemon) -> Vec<String> {
    let folder = rig.folder.path();
    std::fs::create_dir_all(folder.join("in")).unwrap();
    std::fs::write(folder.join("in/a.txt"), "one two\n").unwrap();
    std::fs::write(folder.join("map.sh"), "#!/bin/sh\ncat\n").unwrap();
    let line = "submit --input in --output out --mapper map.sh --reducer cat --file map.sh -D mapred.map.tasks=1";
    let mut words: Vec<_> = line.split(' ').map(str::to_owned).collect();
    words.extend(["--user".to_owned(), "alice".to_owned(), "--jobtracker".to_owned(), rig.address.to_string()]);
    words
}

fn words(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// The first id in a text.
fn job_id(text: &str) -> String {
    text.split(|sign: char| sign.is_whitespace() || sign == '"')
        .find(|word| word.starts_with("job_"))
        .unwrap()
        .to_owned()
}

#[test]
fn what_can_never_work_is_refused_before_it_runs() {
    with_daemon(DaemonOptions::default(), |rig| async move {
        rig.gate.open();
        let folder = rig.folder.path();
        let arguments = submission(&rig);
        std::fs::write(folder.join("map.sh"), "#!/bin/sh\r\ncat\r\n").unwrap();
        let text = job(folder, &words(&arguments)).await.refused(2);
        let expected =
            "the interpreter \"/bin/sh\\r\" in the first line of map.sh is not there: the file has DOS line ends";
        assert!(text.contains(expected), "{text}");
        std::fs::write(folder.join("map.sh"), "#!/bin/sh\ncat\n").unwrap();
        let mut called = words(&arguments);
        called.extend(["-D", "job.end.notification.url=http://127.0.0.1:99999/ok"]);
        let text = job(folder, &called).await.refused(2);
        assert!(text.contains("job.end.notification.url") && text.contains("invalid port"), "{text}");
        let folder_text = folder.display().to_string();
        let archive = format!("mapred.cache.archives=file:{folder_text}/none.tgz#x");
        let refused = [
            &["-D", "io.sort.mb=0"][..],
            &["-D", "mapred.output.compress=TRUE"],
            &["-D", "mapred.job.priority=high"],
            &[
                "-D",
                "mapred.output.key.comparator.class=org.apache.hadoop.mapred.lib.KeyFieldBasedComparator",
                "-D",
                "mapred.text.key.comparator.options=-k2,r",
            ],
            &["-D", "mapred.reducer.class=a.B"],
            &["-D", "mapred.output.key.class=a.B"],
            &["-D", "mapreduce.job.name=x", "--name", "y"],
            &["-D", "mapred.reduce.tasks=3", "--reduces", "2"],
            &["-D", "mapred.jar=a.jar"],
            &["-D", &archive],
            &["--archive", "none.tgz"],
            &["--combiner", "org.apache.hadoop.mapred.lib.LongSumReducer"],
        ];
        let mut texts = Vec::new();
        for more in refused {
            let text = job(folder, &[&words(&arguments), more].concat()).await.refused(2);
            texts.push(text.replace(&folder_text, ""));
        }
        insta::assert_snapshot!(texts.concat(), @r#"
        jobtracker: -D: io.sort.mb = "0": expected a whole number of MB from 1 to 2047
        jobtracker: -D: mapred.output.compress = "TRUE": expected true or false
        jobtracker: -D: mapred.job.priority = "high": expected VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW
        jobtracker: mapred.text.key.comparator.options: "-k2,r": expected -kF[.C][nr][,F[.C][nr]]
        jobtracker: -D mapred.reducer.class=a.B would have no effect: the client computes this property; expected --reducer
        jobtracker: -D mapred.output.key.class=a.B would have no effect: the client computes this property; expected -D stream.reduce.output=text, rawbytes or typedbytes
        jobtracker: -D mapred.job.name=x would have no effect: the client computes this property; expected --name
        jobtracker: -D mapred.reduce.tasks=3 would have no effect: the client computes this property; expected --reduces, or --reducer NONE for none
        jobtracker: -D mapred.jar=a.jar would have no effect: the client computes this property; expected --file for what the job brings, --streaming-jar for the classes of Hadoop Streaming
        jobtracker: mapred.cache.archives: file:/none.tgz does not exist; expected a file where workers read the input
        jobtracker: --archive: file:/none.tgz does not exist; expected a file where workers read the input
        jobtracker: --combiner org.apache.hadoop.mapred.lib.LongSumReducer: there is no such file here, and this looks like the name of a Java class; expected a command; -D mapred.combiner.class=CLASS is for stock TaskTrackers; `hadoop jar` submits jobs of other Java classes
        "#);
    });
}

#[test]
fn a_job_is_submitted_followed_and_looked_at() {
    with_daemon(DaemonOptions::default(), |rig| async move {
        rig.gate.open();
        let maps = Rc::new(Cell::new(Maps::Succeed));
        let worker = tokio::task::spawn_local(work(rig.address, maps));
        let folder = rig.folder.path();
        let arguments = submission(&rig);
        let text = job(folder, &words(&arguments)).await.done();
        let id = job_id(&text);
        assert!(text.contains(&format!("{id} submitted: 1 input file, maps 1\n")), "{text}");
        assert!(text.contains(&format!("{id} SUCCEEDED\n")), "{text}");
        assert!(text.contains("Launched map tasks"), "{text}");
        assert!(text.ends_with(&format!("output  file:{}/out\n", folder.display())), "{text}");

        let address = rig.address.to_string();
        let ask = |line: String| {
            let (folder, address) = (folder.to_owned(), address.clone());
            async move {
                let mut arguments: Vec<_> = line.split(' ').collect();
                arguments.extend(["--jobtracker", &address, "--user", "alice"]);
                job(&folder, &arguments).await
            }
        };
        assert!(!ask("list".to_owned()).await.done().contains(&id), "it is over");
        let list = ask("list --all".to_owned()).await.done();
        assert!(list.contains(&id) && list.contains("map.sh") && list.contains("100%"), "{list}");
        let status = ask(format!("status {id}")).await.done();
        assert!(status.starts_with(&format!("{id} SUCCEEDED: \"map.sh\" of alice in queue default\n")), "{status}");
        assert!(status.contains("maps     1 of 1 done, 0 running, 0 waiting\n"), "{status}");
        let status: Json = serde_json::from_str(&ask(format!("status {id} --json")).await.done()).unwrap();
        assert_eq!(status["tasks"]["reduce"]["finished"], 1, "{status}");
        let events: Json = serde_json::from_str(&ask(format!("events {id} --json")).await.done()).unwrap();
        let events = events.as_array().unwrap();
        assert!(events.iter().all(|event| event["status"] == "SUCCEEDED"), "{events:?}");
        let second = ask(format!("events {id} --from 1 --count 1 --json")).await.done();
        assert_eq!(serde_json::from_str::<Json>(&second).unwrap()[0], events[1]);
        let counters = ask(format!("counters {id}")).await.done();
        assert!(counters.starts_with("COUNTER") && counters.contains("  Launched reduce tasks"), "{counters}");
        assert_eq!(ask(format!("kill {id}")).await.done(), format!("{id} has already ended: SUCCEEDED\n"));
        let attempt = events.iter().find(|event| event["task"] == "map").unwrap()["attempt"].as_str().unwrap();
        let log = ask(format!("logs {attempt} --log stderr")).await.done();
        assert!(log.contains("--- stderr\nasked for /tasklog?attemptid=attempt_"), "{log}");
        assert!(ask(format!("logs {id}")).await.done().contains("no attempt failed"));
        let unknown = id.replace("_0001", "_4711");
        for line in ["status", "kill", "counters", "events", "logs"] {
            let text = ask(format!("{line} {unknown}")).await.refused(2);
            assert_eq!(text, format!("jobtracker: the JobTracker knows no job {unknown}\n"), "{line}");
        }
        worker.abort();
    });
}

#[test]
fn a_job_that_fails_ends_with_one_and_tells_why() {
    with_daemon(DaemonOptions::default(), |rig| async move {
        rig.gate.open();
        let worker = tokio::task::spawn_local(work(rig.address, Rc::new(Cell::new(Maps::Fail))));
        let arguments = submission(&rig);
        let failed = job(rig.folder.path(), &words(&arguments)).await;
        assert_eq!(failed.code, 1, "{failed:?}");
        let text = failed.stdout;
        let id = job_id(&text);
        assert!(text.contains("_m_000000_0 FAILED on http://localhost:"), "{text}");
        assert!(text.contains("\n  the mapper ended with code 7\n  log: http://localhost:"), "{text}");
        assert!(text.contains(&format!("{id} FAILED: ")), "{text}");
        let address = rig.address.to_string();
        let pasted = format!("\noutput  none\nlogs    jobtracker job logs {id} --jobtracker {address}");
        assert!(text.contains(&pasted), "{text}");
        let logs = job(rig.folder.path(), &["logs", &id, "--jobtracker", &address, "--json"]).await.done();
        let logs: Json = serde_json::from_str(&logs).unwrap();
        assert_eq!(logs[0]["logs"][0][0], "stderr", "what a tracker has not is left out: {logs}");
        worker.abort();
    });
}

#[test]
fn a_job_is_killed_reordered_and_left() {
    with_daemon(DaemonOptions::default(), |rig| async move {
        rig.gate.open();
        let maps = Rc::new(Cell::new(Maps::Run));
        let worker = tokio::task::spawn_local(work(rig.address, maps));
        let folder = rig.folder.path();
        let address = rig.address.to_string();
        let mut arguments = submission(&rig);
        arguments.extend(["--detach".to_owned(), "--json".to_owned(), "--name".to_owned(), "slow".to_owned()]);
        let detached: Json = serde_json::from_str(&job(folder, &words(&arguments)).await.done()).unwrap();
        let id = detached["job"].as_str().unwrap().to_owned();
        let place = ["--jobtracker", address.as_str(), "--as", "alice"];
        let ask = |arguments: Vec<&str>| said(job_command(folder, &[arguments, place.to_vec()].concat()));
        let text = ask(vec!["priority", &id, "very_high"]).await.done();
        assert_eq!(text, format!("{id} has priority VERY_HIGH\n"));
        assert!(ask(vec!["priority", &id, "urgent"]).await.refused(2).contains("possible values: VERY_HIGH"));
        let list: Json = serde_json::from_str(&ask(vec!["list", "--json"]).await.done()).unwrap();
        assert_eq!((&list[0]["name"], &list[0]["priority"]), (&Json::from("slow"), &Json::from("VERY_HIGH")));
        for (options, count) in [
            (["--owner", "alice"], 1),
            (["--owner", "bob"], 0),
            (["--name", "sl?w"], 1),
            (["--queue", "other"], 0),
            (["--since", "2999-01-01"], 0),
            (["--state", "failed"], 0),
            (["--limit", "0"], 0),
        ] {
            let list = ask([&["list", "--json"], &options[..]].concat()).await.done();
            let list: Json = serde_json::from_str(&list).unwrap();
            assert_eq!(list.as_array().unwrap().len(), count, "{options:?}");
        }
        // By what it is, it needs a word more.
        let asked = ask(vec!["kill", "--name", "slow"]).await.refused(2);
        assert!(asked.ends_with("to kill this job, add --yes\n") && asked.contains(&id), "{asked}");
        assert_eq!(
            ask(vec!["kill", "--owner", "bob", "--yes"]).await.done(),
            "no unfinished job is chosen by these options\n"
        );
        assert_eq!(ask(vec!["kill", "--name", "s*", "--yes"]).await.done(), format!("{id}: kill requested\n"));
        let waited = ask(vec!["wait", &id]).await;
        assert_eq!((waited.code, waited.stderr.as_str()), (1, ""), "{}", waited.stdout);
        assert!(waited.stdout.ends_with(&format!("{id} KILLED\n")), "{}", waited.stdout);
        let status: Json = serde_json::from_str(&ask(vec!["status", &id, "--json"]).await.done()).unwrap();
        assert_eq!((&status["state"], &status["killed_by"]), (&Json::from("KILLED"), &Json::from("alice")));
        assert!(ask(vec!["status", &id]).await.done().ends_with("  why      killed by alice\n"));
        let followed = ask(vec!["follow", &id]).await;
        assert_eq!(followed.code, 1, "{}", followed.stderr);
        assert_eq!(followed.stdout.lines().last(), Some(format!("{id} KILLED").as_str()));
        let unknown = ask(vec!["wait", "job_202611210000_0099"]).await.refused(2);
        assert!(unknown.contains("job_202611210000_0099"), "{unknown}");
        worker.abort();
    });
}

/// Where stock TaskTrackers are in sight, who submits a job that they cannot run is told so, once.
#[test]
fn a_job_for_built_in_workers_alone_is_warned_of_where_stock_ones_may_be() {
    with_daemon(DaemonOptions::default(), |rig| async move {
        rig.gate.open();
        let folder = rig.folder.path();
        let mut arguments = submission(&rig);
        arguments.push("--detach".to_owned());
        let warning = "warning: stock TaskTrackers cannot run this job, built-in workers can";
        let plain = job(folder, &words(&arguments)).await;
        assert!(!plain.stderr.contains(warning), "{}", plain.stderr);
        plain.done();
        let mut with_hadoop = job_command(folder, &words(&arguments));
        // A Hadoop without Streaming.
        with_hadoop.env("HADOOP_HOME", folder);
        let warned = said(with_hadoop).await;
        assert_eq!(warned.stderr.matches(warning).count(), 1, "{}", warned.stderr);
        warned.done();
    });
}

#[test]
fn mistakes_have_their_codes_and_leave_nothing_behind() {
    with_daemon(DaemonOptions::default(), |rig| async move {
        rig.gate.open();
        let folder = rig.folder.path();
        let arguments = submission(&rig);
        assert!(job(folder, &["status", "job_1"]).await.refused(2).contains("`job_1` is not a job id such as"));
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let unreachable = job(folder, &["list", "--jobtracker", &gone]).await.refused(4);
        assert!(unreachable.contains(&format!("the JobTracker at {gone} cannot be reached")), "{unreachable}");

        let mut other_queue = arguments.clone();
        other_queue.extend(["--queue".to_owned(), "nobodys".to_owned()]);
        let refused = job(folder, &words(&other_queue)).await.refused(2);
        assert!(refused.contains("Queue \"nobodys\" does not exist"), "{refused}");
        let area = rig.staging_dir("alice");
        assert_eq!(std::fs::read_dir(area).unwrap().count(), 0, "a refused job's files are removed");

        std::fs::create_dir(folder.join("out")).unwrap();
        assert!(job(folder, &words(&arguments)).await.refused(2).contains("/out exists already"));
        std::fs::remove_dir(folder.join("out")).unwrap();
        std::fs::write(folder.join("out"), "").unwrap();
        let mut below = arguments.clone();
        below.iter_mut().filter(|word| *word == "out").for_each(|word| word.push_str("/below"));
        assert!(job(folder, &words(&below)).await.refused(2).contains("/out/below: Not a directory"));
        std::fs::remove_file(folder.join("out")).unwrap();
        std::fs::remove_dir_all(folder.join("in")).unwrap();
        let missing = job(folder, &words(&arguments)).await.refused(2);
        assert!(missing.contains("--input: file:") && missing.contains(" does not exist"), "{missing}");
    });
}

#[test]
fn shells_are_told_all_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let output =
            std::process::Command::new(env!("CARGO_BIN_EXE_jobtracker")).args(["completion", shell]).output().unwrap();
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && script.contains("submit") && script.contains("streaming-jar"), "{shell}");
    }
}

/// A text that turns the writing direction, in a job's name.
const TURNED: &str = "in\u{202e}voice";

#[test]
fn on_a_terminal_marks_in_what_others_wrote_are_shown_and_elsewhere_left_alone() {
    with_daemon(DaemonOptions::default(), |rig| async move {
        rig.gate.open();
        let folder = rig.folder.path();
        let mut arguments = submission(&rig);
        arguments.extend(["--detach".to_owned(), "-D".to_owned(), format!("mapred.job.name={TURNED}")]);
        let id = job_id(&job(folder, &words(&arguments)).await.done());
        let address = rig.address.to_string();
        let list = ["list", "--jobtracker", &address, "--as", "alice"];
        let piped = job(folder, &list).await.done();
        assert!(piped.contains(&id) && piped.contains(TURNED), "{piped:?}");
        // script(1) has the program run on a terminal of its own.
        let program = env!("CARGO_BIN_EXE_jobtracker");
        let mut command = tokio::process::Command::new("script");
        command.args(["--quiet", "--return", "--command", &format!("{program} job {}", list.join(" ")), "/dev/null"]);
        command.env("HOME", folder).stdin(std::process::Stdio::null()).kill_on_drop(true);
        let shown = said(command).await.done();
        assert!(shown.contains(&id) && shown.contains(r"in\u{202e}voice"), "{shown:?}");
        assert!(!shown.contains('\u{202e}'), "{shown:?}");
    });
}
