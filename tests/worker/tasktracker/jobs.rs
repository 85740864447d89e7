//! Jobs that succeed, and the explanation of one that cannot run.

use crate::cluster::{Cluster, files_of};

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
