//! Jobs that succeed, and the explanation of one that cannot run.

use tokio::io::AsyncBufReadExt;

use crate::cluster::{Cluster, files_of};
use crate::program::{job_command, said};

/// What the words of the input sum up to.
pub const SUMS: [&str; 11] = [
    "THE\t1", "brown\t1", "dog\t2", "end\t1", "fox\t1", "h\t1", "jumps\t1", "lazy\t1", "over\t1", "quick\t1", "the\t4",
];

/// The value of a counter as the client prints it.
fn counter(said: &str, name: &str) -> i64 {
    let line = said.lines().find(|line| line.trim().starts_with(name));
    line.unwrap_or_else(|| panic!("no {name} in {said}")).split_whitespace().next_back().unwrap().parse().unwrap()
}

#[test]
fn a_wordcount_runs_on_two_workers() {
    let cluster = Cluster::new(2);
    let submit = "submit --counters --input in --output out --file map.sh reduce.sh --reduces 2 --mapper";
    let words: Vec<&str> = submit.split(' ').chain(["sh map.sh", "--reducer", "sh reduce.sh"]).collect();
    let said = cluster.job(&words).done();
    assert_eq!(cluster.output("out"), SUMS);
    let visible = ["_SUCCESS", "part-00000", "part-00001"];
    let checksums = ["._SUCCESS.crc", ".part-00000.crc", ".part-00001.crc"];
    assert_eq!(files_of(&cluster.folder().join("out")), [checksums, visible].concat());
    for (name, value) in [
        ("Map input records", 6),
        ("Map output records", 15),
        ("Reduce input groups", 11),
        ("Reduce input records", 15),
        ("Reduce output records", 11),
        ("lines", 6),
    ] {
        assert_eq!(counter(&said, name), value, "{name}");
    }
}

#[test]
fn combiners_and_jobs_without_reduces_run() {
    let cluster = Cluster::new(1);
    let combined = [
        "submit",
        "--counters",
        "--input",
        "in",
        "--output",
        "combined",
        "--file",
        "map.sh",
        "reduce.sh",
        "--mapper",
        "sh map.sh",
    ];
    let combined = cluster.job(&[&combined[..], &["--combiner", "sh reduce.sh", "--reducer", "sh reduce.sh"]].concat());
    let said = combined.done();
    assert_eq!(cluster.output("combined"), SUMS);
    assert!(counter(&said, "Combine input records") > counter(&said, "Combine output records"));
    cluster.job(&["submit", "--input", "in/a", "--output", "plain", "--mapper", "cat", "--reducer", "NONE"]).done();
    assert_eq!(cluster.output("plain"), ["THE end\t", "jumps over the lazy dog\t", "the quick brown fox\t"]);
}

#[test]
fn values_are_aggregated_in_maps_and_reduces_by_hadoops_words() {
    let cluster = Cluster::new(1);
    let mapper = "#!/bin/sh\ntr -s ' ' '\\n' < /dev/stdin | sed '/^$/d; s/.*/LongValueSum:&\\t1/'\n";
    std::fs::write(cluster.folder().join("agg.sh"), mapper).unwrap();
    let submit =
        "submit -input in -output out -mapper agg.sh -reducer aggregate -file agg.sh -numReduceTasks 2 --counters";
    let said = cluster.job(&submit.split(' ').collect::<Vec<_>>()).done();
    assert_eq!(cluster.output("out"), SUMS);
    assert_eq!(files_of(&cluster.folder().join("out")).iter().filter(|file| file.starts_with("part-")).count(), 2);
    assert_eq!(counter(&said, "Combine input records"), 15);
    assert_eq!(counter(&said, "Combine output records"), 13);
}

#[test]
fn files_and_archives_of_the_cache_lie_under_their_names() {
    let cluster = Cluster::new(1);
    let folder = cluster.folder();
    std::fs::create_dir(folder.join("lib")).unwrap();
    std::fs::write(folder.join("lib/data.txt"), "hi\n").unwrap();
    let tar = std::process::Command::new("tar").args(["-czf", "lib.tgz", "lib"]).current_dir(&folder).status();
    assert!(tar.unwrap().success());
    std::fs::write(folder.join("read.sh"), "cat part.lst d/data.txt tools/lib/data.txt more/lib/data.txt\n").unwrap();
    let files = format!("mapred.cache.files=file:{0}/in/b#part.lst,file:{0}/lib#d", folder.display());
    let archives = format!("mapred.cache.archives=file:{}/lib.tgz#tools", folder.display());
    let submit = "submit --input in/a --output out --reducer NONE -D mapred.map.tasks=1 --file read.sh#r.sh --archive lib.tgz#more -D";
    let words: Vec<&str> = submit.split(' ').chain([&files, "-D", &archives, "--mapper", "sh r.sh"]).collect();
    cluster.job(&words).done();
    assert_eq!(cluster.output("out"), ["\t", "h the\t", "hi\t", "hi\t", "hi\t", "the dog\t"]);
}

#[test]
fn a_job_that_no_worker_can_run_says_so_while_it_is_followed() {
    let cluster = Cluster::new(1);
    cluster.serving.as_ref().unwrap().log.wait_for("streaming_only");
    std::fs::write(cluster.folder().join("in/c.bz2"), "BZh9").unwrap();
    let rpc = cluster.rpc.to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let of_class = ["--partitioner", "com.example.IntHashPartitioner"];
    let of_format = ["-D", "mapred.output.format.class=org.apache.hadoop.mapred.SequenceFileOutputFormat"];
    let of_form = ["-D", "stream.map.output=typedbytes"];
    let of_combiner = ["-D", "mapred.combiner.class=org.apache.hadoop.mapred.lib.LongSumReducer"];
    for (output, input, more, reason) in [
        ("o1", "in/a", of_class, "com.example.IntHashPartitioner"),
        ("o2", "in/a", of_format, "SequenceFileOutputFormat"),
        ("o3", "in/a", of_form, "TypedBytesOutputReader"),
        ("o4", "in/c.bz2", ["--reduces", "1"], "of compressed files only gzip and zlib are read"),
        ("o5", "in/a", of_combiner, "LongSumReducer"),
    ] {
        let submit = ["submit", "--input", input, "--output", output, "--mapper", "cat", "--reducer", "cat"];
        let words = [&submit[..], &more, &["--jobtracker", &rpc, "--user", "alice"]].concat();
        runtime.block_on(assert_says_so(&cluster, &words, reason));
    }
}

/// Submits and follows a job until it is said why no worker can run it; kills it then.
async fn assert_says_so(cluster: &Cluster, words: &[&str], reason: &str) {
    const SENTENCE: &str = "the only connected worker cannot run it: ";
    let (folder, rpc) = (cluster.folder(), cluster.rpc.to_string());
    let mut following = job_command(&folder, words).spawn().unwrap();
    let mut lines = tokio::io::BufReader::new(following.stdout.take().unwrap()).lines();
    let mut before = Vec::new();
    let why = loop {
        let line = lines.next_line().await.unwrap().unwrap_or_else(|| panic!("nothing was said: {before:?}"));
        if line.contains(SENTENCE) {
            break line;
        }
        before.push(line);
    };
    assert!(why.contains(reason), "{why}");
    let job = before[0].split_whitespace().next().unwrap();
    let list = said(job_command(&folder, &["list", "--jobtracker", &rpc])).await.done();
    assert!(list.contains("REASON") && list.contains(SENTENCE), "{list}");
    // Who looks after a cluster sees it too, once the pages are made again.
    let serving = cluster.serving.as_ref().unwrap();
    let page = |address: &str| serving.get(address, "").body;
    let is_said = || page("/readyz").contains(&format!("ok, but no worker can run {job}: "));
    assert!(std::iter::repeat_with(is_said).take(10_000).any(|is_said| is_said), "{}", page("/readyz"));
    let (start, of_job) = (page("/"), page(&format!("/jobs/{job}")));
    assert!(start.contains(&format!("no worker can run {job}")) && of_job.contains(SENTENCE), "{start}\n{of_job}");
    assert!(page("/metrics").contains("jobtracker_stuck{kind=\"job\"} 1\n"));
    said(job_command(&folder, &["kill", job, "--jobtracker", &rpc, "--user", "alice"])).await.done();
    assert_eq!(following.wait().await.unwrap().code(), Some(1));
}

#[test]
fn a_job_of_java_code_waits_and_its_reason_is_shown() {
    let cluster = Cluster::new(1);
    cluster.serving.as_ref().unwrap().log.wait_for("streaming_only");
    let java = ["--input", "in", "--output", "out", "--mapper", "cat", "--reducer", "cat", "-D"];
    let job = cluster.submit(&[&java[..], &["mapred.partitioner.class=a.B"]].concat());
    let serving = cluster.serving.as_ref().unwrap();
    let explanation = serving.get(&format!("/scheduler/explain?job={job}"), "").body;
    assert!(explanation.contains("no_worker_can_run") && explanation.contains("a.B"), "{explanation}");
    cluster.job(&["kill", &job]).done();
}

#[test]
fn input_that_only_java_reads_is_seen_in_the_splits() {
    let cluster = Cluster::new(1);
    cluster.serving.as_ref().unwrap().log.wait_for("streaming_only");
    // job.xml names the folder only.
    std::fs::write(cluster.folder().join("in/c.bz2"), "BZh9").unwrap();
    let job = cluster.submit(&["--input", "in", "--output", "out", "--mapper", "cat", "--reducer", "cat"]);
    let explanation = cluster.serving.as_ref().unwrap().get(&format!("/scheduler/explain?job={job}"), "").body;
    assert!(explanation.contains("no_worker_can_run") && explanation.contains("in/c.bz2"), "{explanation}");
    cluster.job(&["kill", &job]).done();
}
