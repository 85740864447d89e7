//! Streaming jobs become the recorded properties, and commands that could not start are seen.

use super::super::computed::is_listed;
use super::*;
use crate::config::xml;

fn uri(text: &str) -> FileUri {
    FileUri::parse(text).unwrap()
}

fn job() -> StreamingJob {
    StreamingJob {
        name: None,
        queue: None,
        inputs: vec![uri("/data/lab/wd/in")],
        output: uri("/data/lab/wd/out1"),
        mapper: "python3 m.py".into(),
        combiner: None,
        reducer: Reducer::Command("python3 r.py".into()),
        reduces: Some(2),
        files: Vec::new(),
        archives: Vec::new(),
        input_format: None,
        partitioner: None,
        environment: vec![("DUMPDIR".into(), "/data/lab/dump".into()), ("GREETING".into(), "hello".into())],
        streaming_jar: None,
    }
}

fn set(job: &StreamingJob) -> BTreeMap<String, String> {
    set_with(job, &[])
}

fn set_with(job: &StreamingJob, given: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut properties: BTreeMap<_, _> =
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    job.set(&given.iter().copied().collect(), &mut properties);
    properties
}

fn recorded(name: &str) -> BTreeMap<String, String> {
    let path = format!("{}/tests/fixtures/worker/jobxml/{name}.job.xml", env!("CARGO_MANIFEST_DIR"));
    let document = xml::parse(&std::fs::read(path).unwrap()).unwrap();
    document.properties.into_iter().map(|property| (property.name, property.value.unwrap_or_default())).collect()
}

/// Properties of `ours` that differ from the recorded file.
fn differing(ours: &BTreeMap<String, String>, theirs: &BTreeMap<String, String>) -> Vec<String> {
    let other = ours.iter().filter(|(name, value)| theirs.get(*name) != Some(value));
    other.map(|(name, value)| format!("{name}={value} not {:?}", theirs.get(name))).collect()
}

#[test]
fn a_plain_job_is_the_recorded_one() {
    let ours = set(&StreamingJob { name: Some("tiny".into()), ..job() });
    assert_eq!(differing(&ours, &recorded("plain")), Vec::<String>::new());
}

#[test]
fn all_options_are_as_recorded() {
    let theirs = recorded("all-options");
    let ours = set(&StreamingJob {
        inputs: vec![uri("/data/lab/wd/in6"), uri("/data/lab/wd/in4")],
        output: uri(&theirs["mapred.output.dir"]),
        mapper: "/bin/sh -c \"cat; exit 5".into(),
        combiner: Some("cat -u".into()),
        reducer: Reducer::Command("cat".into()),
        reduces: Some(1),
        partitioner: theirs.get("mapred.partitioner.class").cloned(),
        environment: vec![("A".into(), "1".into()), ("B".into(), "two".into())],
        name: theirs.get("mapred.job.name").cloned(),
        ..job()
    });
    assert_eq!(differing(&ours, &theirs), Vec::<String>::new());
}

#[test]
fn formats_that_are_given_stay_and_forms_of_records_name_their_classes() {
    let sequence = "org.apache.hadoop.mapred.SequenceFileOutputFormat";
    let given = [
        ("mapred.output.format.class", sequence),
        ("mapred.input.format.class", "org.apache.hadoop.mapred.lib.NLineInputFormat"),
        ("stream.map.output", "typedbytes"),
        ("stream.reduce.input", "rawbytes"),
    ];
    let ours = set_with(&job(), &given);
    assert_eq!(ours["mapred.output.format.class"], sequence);
    assert_eq!(ours["mapred.input.format.class"], "org.apache.hadoop.mapred.lib.NLineInputFormat");
    assert_eq!(ours["stream.map.output.reader.class"], "org.apache.hadoop.streaming.io.TypedBytesOutputReader");
    assert_eq!(ours["mapred.mapoutput.key.class"], "org.apache.hadoop.typedbytes.TypedBytesWritable");
    assert_eq!(ours["stream.reduce.input.writer.class"], "org.apache.hadoop.streaming.io.RawBytesInputWriter");
    assert_eq!(ours["mapred.output.value.class"], "org.apache.hadoop.io.Text");
    let chosen = StreamingJob { input_format: Some(InputFormat::KeyValue), ..job() };
    assert_eq!(set_with(&chosen, &given)["mapred.input.format.class"], "org.apache.hadoop.streaming.StreamInputFormat");
}

#[test]
fn all_that_the_client_writes_has_something_to_give_instead() {
    let all = StreamingJob {
        name: Some("n".into()),
        queue: Some("q".into()),
        combiner: Some("cat".into()),
        partitioner: Some("a.B".into()),
        ..job()
    };
    let unlisted: Vec<_> = set(&all).into_keys().filter(|name| !is_listed(name)).collect();
    // Where it is given it stays.
    assert_eq!(unlisted, ["mapred.output.format.class"]);
}

#[test]
fn maps_alone_have_no_reduces() {
    let ours = set(&StreamingJob { reducer: Reducer::None, ..job() });
    assert_eq!((ours["mapred.reduce.tasks"].as_str(), ours["stream.reduce.streamprocessor"].as_str()), ("0", "NONE"));
    assert_eq!(ours["mapred.job.name"], "python3 m.py");
    assert_eq!(default_job_name("/usr/bin/tr a /b"), "tr a /b");
}

#[test]
fn the_identity_is_a_class_and_no_command() {
    let ours = set(&StreamingJob { reducer: Reducer::parse("org.apache.hadoop.mapred.lib.IdentityReducer"), ..job() });
    assert_eq!(ours["mapred.reducer.class"], "org.apache.hadoop.mapred.lib.IdentityReducer");
    assert_eq!((ours.get("stream.reduce.streamprocessor"), ours["mapred.reduce.tasks"].as_str()), (None, "2"));
    assert_eq!(["NONE", "none"].map(Reducer::parse), [Reducer::None, Reducer::None]);
    assert_eq!(["aggregate", "Aggregate"].map(Reducer::parse), [Reducer::Aggregate, Reducer::Aggregate]);
    let ours = set(&StreamingJob { reducer: Reducer::Aggregate, ..job() });
    let aggregate = "org.apache.hadoop.mapred.lib.aggregate.ValueAggregator";
    assert_eq!(ours["mapred.reducer.class"], format!("{aggregate}Reducer"));
    assert_eq!(ours["mapred.combiner.class"], format!("{aggregate}Combiner"));
    assert_eq!(ours.get("stream.reduce.streamprocessor"), None);
    assert_eq!(Reducer::parse("wc -l"), Reducer::Command("wc -l".into()));
}

#[test]
fn a_shipped_program_is_named_as_it_will_lie_there() {
    let folder = tempfile::tempdir().unwrap();
    let map = folder.path().join("map.py");
    std::fs::write(&map, "").unwrap();
    let job = StreamingJob { files: vec![ShippedFile::new(map.clone())], ..job() };
    assert_eq!(job.encoded(&format!("{} -v", map.display())), "map.py+-v");
    assert_eq!(job.encoded(&map.display().to_string()), "map.py");
    let renamed = ShippedFile::parse(&format!("{}#m", map.display()));
    assert_eq!(renamed, ShippedFile { path: map.clone(), name: Some("m".into()) });
    let renamed = StreamingJob { files: vec![renamed], ..job.clone() };
    assert_eq!(renamed.encoded(&format!("{} -v", map.display())), "m+-v");
    assert_eq!(job.encoded("/bin/cat -u"), "%2Fbin%2Fcat+-u");
    assert_eq!(job.encoded("a+b~*é"), "a%2Bb%7E*%C3%A9");
}

#[test]
fn scripts_that_cannot_start_are_seen_before_they_are_submitted() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (dos, missing) = (file("m.py", "#!/usr/bin/python3\r\n"), file("r.py", "#!/no/such/python\n"));
    let good = file("good.sh", "#!/bin/sh\n");
    let files = [dos.clone(), missing, good].map(ShippedFile::new).to_vec();
    let faults = |mapper: &str, combiner: Option<&str>, reducer: &str| {
        let (mapper, combiner) = (mapper.to_owned(), combiner.map(str::to_owned));
        let job = StreamingJob { mapper, combiner, reducer: Reducer::parse(reducer), files: files.clone(), ..job() };
        job.script_faults().iter().map(ScriptFault::is_of_file).collect::<Vec<_>>()
    };
    assert_eq!(faults("m.py -v", None, "NONE"), [true], "by its name in the task's directory");
    assert_eq!(faults(&dos.display().to_string(), Some("m.py"), "r.py"), [true, false], "each once");
    assert_eq!(faults("good.sh", Some("./m.py"), "cat"), Vec::<bool>::new(), "what is not brought is not looked at");
    assert_eq!(faults("python3 m.py", None, "NONE"), Vec::<bool>::new(), "another program reads it");
}

#[test]
fn names_of_java_classes_are_no_commands() {
    let class_of = |mapper: &str, reducer: &str| {
        let job = StreamingJob { mapper: mapper.into(), reducer: Reducer::parse(reducer), ..job() };
        job.java_class().map(|(option, class)| format!("{option} {class}"))
    };
    let sum = "org.apache.hadoop.mapred.lib.LongSumReducer";
    assert_eq!(class_of("cat", sum).as_deref(), Some("--reducer org.apache.hadoop.mapred.lib.LongSumReducer"));
    assert_eq!(class_of("com.example.Outer$Map ", "cat").as_deref(), Some("--mapper com.example.Outer$Map"));
    for command in ["map.py", "words.R", "./a.b.C", "a.b.C -x", "python3.11", "com.example.map", "aggregate"] {
        assert_eq!(class_of(command, command), None, "{command}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.words.Count");
    std::fs::write(&file, "").unwrap();
    let shipped = StreamingJob { mapper: "my.words.Count".into(), files: vec![ShippedFile::new(file)], ..job() };
    assert_eq!(shipped.java_class(), None);
}

#[test]
fn a_reducer_that_is_almost_aggregate_is_no_command() {
    let of = |reducer: &str| {
        StreamingJob { reducer: Reducer::parse(reducer), ..job() }.misspelt_aggregate().map(str::to_owned)
    };
    assert_eq!(of("agregate").as_deref(), Some("agregate"));
    assert_eq!(of("Aggregat").as_deref(), Some("Aggregat"));
    for fine in ["aggregate", "cat", "agregate -x", "./agregate", "NONE"] {
        assert_eq!(of(fine), None, "{fine}");
    }
}

#[test]
fn commas_in_paths_part_nothing() {
    let ours = set(&StreamingJob { inputs: vec![uri("/a,b"), uri("/c")], ..job() });
    assert_eq!(ours["mapred.input.dir"], "file:/a\\,b,file:/c");
}

#[test]
fn words_that_a_shell_would_act_on_are_found_outside_of_quotes() {
    assert_eq!(shell_word("grep x | sort"), Some("|"));
    assert_eq!(shell_word("tr a b > out"), Some(">"));
    assert_eq!(shell_word("echo $HOME"), Some("$HOME"));
    assert_eq!(shell_word("cat ${DATA}/x"), Some("${DATA}/x"));
    assert_eq!(shell_word("grep `date`"), Some("`date`"));
    for good in [
        "grep a$",
        "cut -f $1",
        "sh -c 'echo $HOME'",
        "sh -c 'grep x | sort'",
        "grep a|b",
        "awk \"{ print > $1 }\"",
        "",
    ] {
        assert_eq!(shell_word(good), None, "{good}");
    }
}

/// Tests run where the manifest lies.
#[test]
fn files_that_are_here_and_not_shipped_are_seen() {
    let of = |mapper: &str, files: &[&str]| {
        let files = files.iter().map(|file| ShippedFile::parse(file)).collect();
        StreamingJob { mapper: mapper.to_owned(), reducer: Reducer::None, files, ..job() }.unshipped_files()
    };
    let found = |file: &str| vec![("--mapper", file.to_owned())];
    assert_eq!(of("./Cargo.toml", &[]), found("./Cargo.toml"));
    assert_eq!(of("python3 src/lib.rs 3", &[]), found("src/lib.rs"));
    for (mapper, files) in [
        ("./Cargo.toml", &["Cargo.toml"][..]),
        ("x.sh Cargo.toml", &["build/y#Cargo.toml"][..]),
        ("src/lib.rs", &["src"][..]),
        ("/bin/sh", &[][..]),
        ("cat", &[][..]),
        ("./nothing.sh", &[][..]),
        ("sh -c 'cat Cargo.toml'", &[][..]),
    ] {
        assert!(of(mapper, files).is_empty(), "{mapper}");
    }
    let unpacked = StreamingJob { archives: vec!["file:/a.tgz#src".to_owned()], ..job() };
    assert!(StreamingJob { mapper: "src/lib.rs".to_owned(), ..unpacked }.unshipped_files().is_empty());
}

#[test]
fn a_quote_that_stays_open_is_named_with_its_option() {
    let open = StreamingJob { reducer: Reducer::Command("sed 's/x".to_owned()), ..job() };
    assert_eq!(open.unclosed_quote(), Some(("--reducer", "sed 's/x", '\'')));
    assert_eq!(job().unclosed_quote(), None);
}
