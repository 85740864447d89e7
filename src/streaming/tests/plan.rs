//! Recorded job.xml files give the plans of their jobs; what is not ours is named.

use std::collections::BTreeMap;

use super::super::fixtures;
use super::*;

fn configuration(job: &str, changes: &[(&str, &str)]) -> Configuration {
    let mut configuration = Configuration::new(BTreeMap::new());
    configuration.add_job_xml("job.xml", &fixtures::bytes(&format!("jobxml/{job}.job.xml"))).unwrap();
    for (name, value) in changes {
        configuration.add_override(&format!("{name}={value}")).unwrap();
    }
    configuration
}

fn plan(job: &str, changes: &[(&str, &str)]) -> StreamingPlan {
    StreamingPlan::read(&configuration(job, changes)).unwrap()
}

fn reason(changes: &[(&str, &str)]) -> String {
    StreamingPlan::read(&configuration("plain", changes)).unwrap_err().to_string()
}

fn command(value: &str) -> CommandLine {
    CommandLine::decode(value).unwrap()
}

/// A reducer or combiner, cut as the mapper is.
fn step(value: &str, plan: &StreamingPlan) -> SortedStep {
    SortedStep::Command(CommandPlan { command: command(value), ..plan.map.clone() })
}

#[test]
fn a_plain_job_has_hadoops_defaults() {
    let plan = plan("plain", &[]);
    let tab = FieldRule { separator: b"\t".to_vec(), key_fields: 1 };
    assert_eq!(plan.input, LineFormat::Text);
    assert_eq!(plan.map.output, tab);
    assert_eq!(plan.reduce, Some(step("python3+r.py", &plan)));
    let sort = plan.sort.as_ref().unwrap();
    assert_eq!((sort.reduces, &sort.partitioner, &sort.order), (2, &Partitioner::Hash, &KeyOrder::Bytes));
    assert_eq!((sort.codec, &sort.combine, sort.factor), (None, &None, 10));
    assert_eq!((sort.memory_bytes, sort.spill_at_bytes), (100 << 20, 80 << 20));
    assert_eq!(plan.shuffle.parallel_copies, 2);
    assert_eq!(plan.shuffle.memory_bytes, 140 << 20);
    assert_eq!(plan.process.time_limit, Some(Duration::from_secs(600)));
    assert_eq!(plan.process.reporter_prefix, "reporter:");
    assert_eq!(plan.part_name(1), "part-00001");
}

#[test]
fn options_reach_the_plan() {
    let zlib = plan("zlib", &[]);
    let sort = zlib.sort.as_ref().unwrap();
    assert_eq!(sort.codec, Some(Codec::Zlib));
    assert_eq!(sort.combine, Some(step("python3+r.py", &zlib)));
    let all_options = plan("all-options", &[]);
    assert_eq!(all_options.map.command.words(), ["/bin/sh", "-c", "cat; exit 5"]);
    assert!(!all_options.process.non_zero_exit_is_failure);
    assert_eq!(all_options.map.output, FieldRule { separator: b":".to_vec(), key_fields: 2 });
    assert_eq!(zlib.part_name(0), "part-00000.gz");
    let keyfields = plan("keyfields", &[]);
    let sort = keyfields.sort.as_ref().unwrap();
    assert_eq!(keyfields.map.output.key_fields, 2);
    assert_eq!(sort.order, KeyOrder::Fields(KeyFields::parse(b'\t', "-k1,1 -k2,2nr").unwrap()));
    assert_eq!(sort.partitioner, Partitioner::Fields(KeyFields::parse(b'\t', "-k1,1").unwrap()));
    let changed = plan(
        "plain",
        &[
            ("mapred.reduce.tasks", "0"),
            ("mapred.reducer.class", "a.b.C"),
            ("mapred.input.format.class", "org.apache.hadoop.streaming.StreamInputFormat"),
            ("mapred.task.timeout", "0"),
            ("mapred.child.ulimit", "4000"),
            ("mapred.child.java.opts", "-Xmx10m -Xmx1G x"),
            ("num.key.fields.for.partition", "2"),
        ],
    );
    assert_eq!(changed.sort, None);
    assert_eq!(changed.input, LineFormat::KeyValue { separator: b'\t' });
    assert_eq!(changed.process.time_limit, None);
    assert_eq!(changed.process.map_ulimit_kb, Some(4000));
    assert_eq!(changed.shuffle.memory_bytes, (1 << 30) * 7 / 10);
}

#[test]
fn the_identity_reducer_runs_no_command() {
    assert!(plan("plain", &[]).reduce.is_some());
    assert_eq!(plan("plain", &[("mapred.reducer.class", "")]).reduce, None);
    let changes = [("mapred.reducer.class", "org.apache.hadoop.mapred.lib.IdentityReducer")];
    let identity = plan("plain", &changes);
    assert_eq!(identity.reduce, None);
    assert!(identity.sort.is_some());
}

#[test]
fn what_only_java_does_is_named() {
    let reasons = [
        reason(&[("mapred.mapper.class", "org.apache.hadoop.mapred.lib.IdentityMapper")]),
        reason(&[("mapred.mapper.new-api", "true")]),
        reason(&[("stream.map.streamprocessor", "")]),
        reason(&[("mapred.reducer.class", "org.apache.hadoop.mapred.lib.LongSumReducer")]),
        reason(&[("stream.map.output.reader.class", "org.apache.hadoop.streaming.io.TypedBytesOutputReader")]),
        reason(&[("mapred.input.format.class", "org.apache.hadoop.mapred.SequenceFileInputFormat")]),
        reason(&[
            ("mapred.input.format.class", "org.apache.hadoop.streaming.StreamInputFormat"),
            ("stream.recordreader.class", "org.apache.hadoop.streaming.StreamXmlRecordReader"),
        ]),
        reason(&[("mapred.skip.map.max.skip.records", "5")]),
        reason(&[("mapred.compress.map.output", "true"), ("mapred.map.output.compression.codec", "a.Snappy")]),
        reason(&[("mapred.output.value.groupfn.class", "a.B")]),
        reason(&[("mapred.output.key.comparator.class", "KeyFieldBasedComparator")]),
        reason(&[
            ("mapred.output.key.comparator.class", FIELD_COMPARATOR),
            ("mapred.text.key.comparator.options", "-kx"),
        ]),
        reason(&[("io.sort.mb", "many")]),
        reason(&[("mapred.output.dir", "s3://n/x")]),
        reason(&[("mapred.input.dir", "file:/a,file:/b.bz2")]),
    ];
    insta::assert_snapshot!(reasons.join("\n"), @r#"
    mapred.mapper.class is "org.apache.hadoop.mapred.lib.IdentityMapper"; a built-in tasktracker knows streaming commands: a stock TaskTracker runs it
    mapred.mapper.new-api = "true": only Java code has the interface `mapreduce`: a stock TaskTracker runs it
    stream.map.streamprocessor is ""; a built-in tasktracker knows streaming commands: a stock TaskTracker runs it
    mapred.reducer.class is "org.apache.hadoop.mapred.lib.LongSumReducer"; a built-in tasktracker knows streaming commands, aggregate and IdentityReducer: a stock TaskTracker runs it
    stream.map.output.reader.class is "org.apache.hadoop.streaming.io.TypedBytesOutputReader"; a built-in tasktracker knows text: a stock TaskTracker runs it
    mapred.input.format.class is "org.apache.hadoop.mapred.SequenceFileInputFormat"; a built-in tasktracker knows TextInputFormat, KeyValueTextInputFormat, NLineInputFormat and StreamInputFormat: a stock TaskTracker runs it
    stream.recordreader.class is "org.apache.hadoop.streaming.StreamXmlRecordReader"; a built-in tasktracker knows line readers: a stock TaskTracker runs it
    mapred.skip.map.max.skip.records = "5": bad records are not skipped: a stock TaskTracker runs it
    mapred.map.output.compression.codec is "a.Snappy"; a built-in tasktracker knows DefaultCodec and GzipCodec: a stock TaskTracker runs it
    mapred.output.value.groupfn.class is "a.B"; a built-in tasktracker knows groups of keys that are equal in the order: a stock TaskTracker runs it
    mapred.output.key.comparator.class is "KeyFieldBasedComparator", which lacks its package: expected org.apache.hadoop.mapred.lib.KeyFieldBasedComparator
    mapred.text.key.comparator.options: "-kx": expected -kF[.C][nr][,F[.C][nr]]
    -D: io.sort.mb = "many": expected a whole number of MB from 1 to 2047
    mapred.output.dir: "s3://n/x": unknown file system "s3"; expected a file: or hdfs: URI or an absolute path
    mapred.input.dir = "file:/b.bz2": of compressed files only gzip and zlib are read: a stock TaskTracker runs it
    "#);
}

#[test]
fn aggregate_needs_no_command() {
    let aggregate = plan(
        "plain",
        &[
            ("mapred.reducer.class", AGGREGATE_REDUCER),
            ("mapred.combiner.class", AGGREGATE_COMBINER),
            ("aggregate.max.num.unique.values", "7"),
        ],
    );
    assert_eq!(aggregate.reduce, Some(SortedStep::Aggregate(AggregateRules { most_unique: Some(7) })));
    let combine = aggregate.sort.and_then(|sort| sort.combine);
    assert_eq!(combine, Some(SortedStep::Aggregate(AggregateRules { most_unique: None })));
}

#[test]
fn what_no_worker_could_use_is_named_whatever_else_the_job_has() {
    let refused = |changes: &[(&str, &str)]| {
        // A partitioner that only stock trackers may have hides nothing.
        let changes = [&[("mapred.partitioner.class", "a.B")], changes].concat();
        check_values(&configuration("plain", &changes)).map_err(|error| error.to_string())
    };
    let comparator = ("mapred.output.key.comparator.class", FIELD_COMPARATOR);
    let texts = [
        refused(&[comparator, ("mapred.text.key.comparator.options", "-k2,r")]),
        refused(&[("mapred.partitioner.class", FIELD_PARTITIONER), ("mapred.text.key.partitioner.options", "-kx")]),
        refused(&[("io.sort.mb", "0")]),
        refused(&[("mapred.output.compress", "TRUE")]),
        refused(&[("stream.map.output", "binary")]),
    ];
    insta::assert_snapshot!(texts.map(Result::unwrap_err).join("\n"), @r#"
    mapred.text.key.comparator.options: "-k2,r": expected -kF[.C][nr][,F[.C][nr]]
    mapred.text.key.partitioner.options: "-kx": expected -kF[.C][nr][,F[.C][nr]]
    -D: io.sort.mb = "0": expected a whole number of MB from 1 to 2047
    -D: mapred.output.compress = "TRUE": expected true or false
    -D: stream.map.output = "binary": expected text, rawbytes or typedbytes
    "#);
    assert_eq!(refused(&[]), Ok(()), "a class is for the JobTracker to judge, which knows its workers");
    let by_count = [
        ("mapred.partitioner.class", FIELD_PARTITIONER),
        ("mapred.text.key.partitioner.options", "-kx"),
        ("num.key.fields.for.partition", "1"),
    ];
    assert_eq!(refused(&by_count), Ok(()), "Hadoop does not read the options either");
}
