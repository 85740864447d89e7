//! Jobs whose files lie on a NameNode of the test, which fails or whose DataNodes do.

use crate::cluster::Cluster;
use crate::daemon::child::wait_for_files;
use crate::fake_hdfs::cluster::{self, CallFault, Fault};

/// A JobTracker and a worker on the NameNode of the test, with input there.
struct Stage {
    hdfs: cluster::Cluster,
    cluster: Cluster,
}

/// The input, and what counting its words gives.
const INPUT: &str = "the quick brown fox\njumps over the lazy dog\n";
const COUNTS: &str = "brown\t1\ndog\t1\nfox\t1\njumps\t1\nlazy\t1\nover\t1\nquick\t1\nthe\t2\n";

// === impl Stage ===

impl Stage {
    fn new(nodes: &[Option<Fault>]) -> Self {
        let hdfs = cluster::Cluster::stock(nodes);
        let defines = [
            format!("fs.default.name={}", hdfs.uri()),
            "mapred.system.dir=/mapred/system".to_owned(),
            "mapreduce.jobtracker.staging.root.dir=/user".to_owned(),
            "hadoop.job.history.location=/history".to_owned(),
            // Soon, where something says nothing or is away.
            "dfs.socket.timeout=1000".to_owned(),
        ];
        let defines: Vec<&str> = defines.iter().map(String::as_str).collect();
        let mut cluster = Cluster::with(&defines, 0);
        cluster.add_worker(&defines);
        hdfs.add_file_of("alice", "/user/alice/in/a", INPUT.as_bytes(), 1 << 20);
        Self { hdfs, cluster }
    }

    /// Words of a submission that counts words.
    fn words<'a>(&self, uri: &'a str, output: &'a str) -> Vec<&'a str> {
        let job = ["--input", "/user/alice/in/a", "--output", output, "--file", "map.sh", "--file", "reduce.sh"];
        let commands = ["--mapper", "sh map.sh", "--reducer", "sh reduce.sh", "-D", "mapred.map.tasks=1", "-D", uri];
        [&job[..], &commands[..]].concat()
    }

    fn uri(&self) -> String {
        format!("fs.default.name={}", self.hdfs.uri())
    }

    fn output(&self, folder: &str) -> String {
        String::from_utf8(self.hdfs.content(&format!("{folder}/part-00000")).unwrap()).unwrap()
    }
}

#[test]
fn a_job_comes_through_datanodes_that_die_say_nothing_or_are_corrupt() {
    for fault in [Fault::CutsAfter(30), Fault::SilentAfter(30), Fault::Rots(8), Fault::DiesAfter(0)] {
        let stage = Stage::new(&[None, None, None]);
        stage.hdfs.state.lock().nodes[0].fault = Some(fault);
        let (uri, output) = (stage.uri(), "/user/alice/out");
        stage.cluster.job(&[&["submit"][..], &stage.words(&uri, output)].concat()).done();
        assert_eq!(stage.output(output), COUNTS, "{fault:?}");
        let state = stage.hdfs.state.lock();
        assert!(state.files.contains_key("/user/alice/out/_SUCCESS"), "{fault:?}");
        assert!(!state.directories.contains_key("/user/alice/out/_temporary"), "{fault:?}");
        assert_eq!(state.violations, [""; 0], "{fault:?}");
        assert_eq!(&*state.files["/user/alice/out/part-00000"].owner, "alice");
    }
}

#[test]
fn an_input_without_a_good_replica_fails_the_job_and_is_named() {
    let stage = Stage::new(&[None, None]);
    let block = stage.hdfs.state.lock().files["/user/alice/in/a"].blocks[0];
    // Those of this block alone are bad: others are read.
    stage.hdfs.state.change(|state| {
        for node in &mut state.nodes {
            node.replicas.remove(&block.id);
        }
    });
    let uri = stage.uri();
    let words = [&["submit"][..], &stage.words(&uri, "/user/alice/out"), &["-D", "mapred.map.max.attempts=2"]].concat();
    let said = stage.cluster.job(&words);
    let all = format!("{}{}", said.stdout, said.stderr);
    assert_ne!(said.code, 0, "{all}");
    assert!(all.contains("/user/alice/in/a") && all.contains(&format!("blk_{}", block.id)), "{all}");
    assert!(stage.hdfs.content("/user/alice/out/part-00000").is_none());
}

#[test]
fn a_namenode_that_is_restarted_in_mid_run_costs_no_attempt() {
    let mut stage = Stage::new(&[None, None]);
    let (begun, gate) = (stage.cluster.folder().join("begun"), stage.cluster.folder().join("gate"));
    let mapper = format!("cat; touch {}; while [ ! -e {} ]; do sleep 0.1; done", begun.display(), gate.display());
    std::fs::write(stage.cluster.folder().join("wait.sh"), mapper).unwrap();
    let uri = stage.uri();
    let job = stage.cluster.submit(&[
        "--input",
        "/user/alice/in/a",
        "--output",
        "/user/alice/out",
        "--file",
        "wait.sh",
        "--mapper",
        "sh wait.sh",
        "--reducer",
        "NONE",
        "-D",
        "mapred.map.tasks=1",
        "-D",
        &uri,
    ]);
    wait_for_files(&stage.cluster.folder(), || begun.exists());
    let tried = stage.hdfs.cut_off_namenode();
    std::fs::write(&gate, "").unwrap();
    // The task ends without its NameNode, and calls it again.
    stage.hdfs.state.wait_until(|state| state.connections > tried);
    let serving = stage.cluster.serving.as_ref().unwrap();
    assert!(serving.get("/metrics", "").body.contains("jobtracker_"), "it serves meanwhile");
    stage.hdfs.stop_namenode();
    stage.hdfs.state.lock().is_closing = false;
    stage.hdfs.start_namenode();
    stage.cluster.job(&["wait", &job]).done();
    assert_eq!(stage.output("/user/alice/out").replace('\t', ""), INPUT.replace('\t', ""));
    let events = stage.cluster.job(&["events", &job, "--json"]).done();
    let events: serde_json::Value = serde_json::from_str(&events).unwrap();
    let bad = events.as_array().unwrap().iter().filter(|event| event["status"] != "SUCCEEDED").count();
    assert!(bad == 0 && events.as_array().unwrap().len() >= 3, "{events:#}");
}

#[test]
fn an_output_that_was_committed_before_its_answer_was_lost_is_whole() {
    let stage = Stage::new(&[None]);
    let uri = stage.uri();
    stage.hdfs.fail_calls(&[("rename", CallFault::LostAfter)]);
    stage.cluster.job(&[&["submit"][..], &stage.words(&uri, "/user/alice/out")].concat()).done();
    assert_eq!(stage.output("/user/alice/out"), COUNTS);
}

#[test]
fn an_output_on_an_unknown_file_system_is_refused_before_anything_is_staged() {
    let stage = Stage::new(&[None]);
    let uri = stage.uri();
    let said = stage.cluster.job(&[&["submit"][..], &stage.words(&uri, "s3://bucket/out")].concat());
    assert_ne!(said.code, 0);
    assert!(
        said.stderr.contains("s3://bucket/out") && said.stderr.contains("unknown file system \"s3\""),
        "{}",
        said.stderr
    );
    assert_eq!(said.stderr.trim().lines().count(), 1, "{}", said.stderr);
    assert!(!stage.hdfs.state.lock().directories.keys().any(|path| path.contains("/.staging/")));
}
