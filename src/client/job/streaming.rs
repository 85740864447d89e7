//! A streaming job, and the properties that the stock streaming tool (1.2.1 `StreamJob`) writes to job.xml.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::fs::{FileUri, ScriptFault, script_fault};

/// Processing of the map output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reducer {
    /// A command reads it.
    Command(String),
    /// It is sorted and written unchanged.
    Identity,
    /// No reduces: the map output is the job's output.
    None,
}

/// How input becomes records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputFormat {
    /// Lines.
    #[default]
    Text,
    /// Lines of key, tab, value.
    KeyValue,
    /// Lines, N for each map (`mapred.line.input.format.linespermap`).
    Lines,
}

/// A streaming job to submit.
#[derive(Clone, Debug)]
pub struct StreamingJob {
    /// Its name; default: from its mapper.
    pub name: Option<String>,
    /// Its queue; default: from the configuration.
    pub queue: Option<String>,
    /// Paths and patterns of its input.
    pub inputs: Vec<FileUri>,
    /// The output directory, which must not exist.
    pub output: FileUri,
    /// The command of maps.
    pub mapper: String,
    /// The command of combiners.
    pub combiner: Option<String>,
    /// The command of reduces.
    pub reducer: Reducer,
    /// Number of reduces; default: from the configuration.
    pub reduces: Option<u32>,
    /// Files and directories shipped with it.
    pub files: Vec<PathBuf>,
    /// How input is read.
    pub input_format: InputFormat,
    /// Class of the partitioner; default: by hash.
    pub partitioner: Option<String>,
    /// Environment variables of the commands: names and values without blanks.
    pub environment: Vec<(String, String)>,
    /// `hadoop-streaming-1.2.1.jar`, which stock TaskTrackers need.
    pub streaming_jar: Option<PathBuf>,
}

/// Characters that form encoding leaves unchanged, except for blanks.
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'*').remove(b'_').remove(b' ');
/// Maximum length of a name made from a command, characters.
const LONGEST_NAME: usize = 60;

/// A word of a command that only a shell would act on: no shell runs commands of streaming jobs, which get it as an
/// argument. Words behind a quote are left to whichever program gets them.
pub fn shell_word(command: &str) -> Option<&str> {
    const SHELL_WORDS: [&str; 8] = ["|", "||", "&", "&&", ";", "<", ">", ">>"];
    let unquoted = command.split(['\'', '"']).next().unwrap_or_default();
    unquoted.split_whitespace().find(|word| SHELL_WORDS.contains(word))
}

// === impl Reducer ===

impl Reducer {
    const IDENTITY: &str = "org.apache.hadoop.mapred.lib.IdentityReducer";

    /// Parses the stock tool's argument: `NONE`, here in small letters too, the identity's class name, or a command.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            none if none.eq_ignore_ascii_case("NONE") => Self::None,
            Self::IDENTITY => Self::Identity,
            command => Self::Command(command.to_owned()),
        }
    }

    const fn class(&self) -> &'static str {
        match self {
            Self::Command(_) | Self::None => "org.apache.hadoop.streaming.PipeReducer",
            Self::Identity => Self::IDENTITY,
        }
    }
}

// === impl InputFormat ===

impl InputFormat {
    /// The Java class that the stock tool uses.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Text => "org.apache.hadoop.mapred.TextInputFormat",
            Self::KeyValue => "org.apache.hadoop.streaming.StreamInputFormat",
            Self::Lines => "org.apache.hadoop.mapred.lib.NLineInputFormat",
        }
    }
}

// === impl StreamingJob ===

impl StreamingJob {
    /// Sets the properties that the stock tool sets, overriding configured ones.
    pub fn set(&self, properties: &mut BTreeMap<String, String>) {
        let mut set = |name: &str, value: &str| {
            properties.insert(name.to_owned(), value.to_owned());
        };
        const TEXT: &str = "org.apache.hadoop.io.Text";
        for key in [
            "mapred.mapoutput.key.class",
            "mapred.mapoutput.value.class",
            "mapred.output.key.class",
            "mapred.output.value.class",
        ] {
            set(key, TEXT);
        }
        for step in ["map", "reduce"] {
            set(&format!("stream.{step}.input.writer.class"), "org.apache.hadoop.streaming.io.TextInputWriter");
            set(&format!("stream.{step}.output.reader.class"), "org.apache.hadoop.streaming.io.TextOutputReader");
        }
        let inputs: Vec<_> = self.inputs.iter().map(|input| comma_escaped(&input.to_string())).collect();
        set("mapred.input.dir", &inputs.join(","));
        set("stream.numinputspecs", &self.inputs.len().to_string());
        set("mapred.output.dir", &self.output.to_string());
        set("mapred.input.format.class", self.input_format.class());
        set("mapred.output.format.class", "org.apache.hadoop.mapred.TextOutputFormat");
        set("mapred.mapper.class", "org.apache.hadoop.streaming.PipeMapper");
        set("mapred.map.runner.class", "org.apache.hadoop.streaming.PipeMapRunner");
        set("stream.map.streamprocessor", &self.encoded(&self.mapper));
        if let Some(combiner) = &self.combiner {
            set("mapred.combiner.class", "org.apache.hadoop.streaming.PipeCombiner");
            set("stream.combine.streamprocessor", &self.encoded(combiner));
        }
        set("mapred.reducer.class", self.reducer.class());
        match &self.reducer {
            Reducer::Command(command) => set("stream.reduce.streamprocessor", &self.encoded(command)),
            Reducer::Identity => {}
            Reducer::None => set("stream.reduce.streamprocessor", "NONE"),
        }
        match (&self.reducer, self.reduces) {
            (Reducer::None, _) => set("mapred.reduce.tasks", "0"),
            (_, Some(reduces)) => set("mapred.reduce.tasks", &reduces.to_string()),
            (_, None) => {}
        }
        if let Some(partitioner) = &self.partitioner {
            set("mapred.partitioner.class", partitioner);
        }
        let environment: Vec<_> = self.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        set("stream.addenvironment", &environment.join(" "));
        set("mapred.create.symlink", "yes");
        set("mapred.used.genericoptionsparser", "true");
        if let Some(queue) = &self.queue {
            set("mapred.job.queue.name", queue);
        }
        match &self.name {
            Some(name) => set("mapred.job.name", name),
            None => {
                properties.entry("mapred.job.name".to_owned()).or_insert_with(|| default_job_name(&self.mapper));
            }
        }
    }

    /// What keeps scripts that it brings, and its commands start, from starting here. A worker may have interpreters that this
    /// machine has not.
    pub fn script_faults(&self) -> Vec<ScriptFault> {
        let reducer = match &self.reducer {
            Reducer::Command(command) => Some(command),
            Reducer::Identity | Reducer::None => None,
        };
        let search_path = std::env::var("PATH").ok();
        let mut faults = Vec::new();
        for command in [Some(&self.mapper), self.combiner.as_ref(), reducer].into_iter().flatten() {
            let script = self.shipped_program(command).and_then(|file| file.canonicalize().ok());
            let fault = script.and_then(|script| script_fault(&script, script.parent()?, search_path.as_deref()));
            faults.extend(fault.filter(|fault| !faults.contains(fault)));
        }
        faults
    }

    /// The file that a command starts, if the job brings it: under its path here, or under its name in the task's directory.
    fn shipped_program(&self, command: &str) -> Option<&Path> {
        let program = Path::new(command.split(' ').next()?);
        let is_plain_name = program.components().count() == 1 && !program.is_absolute();
        let is_it = |file: &&PathBuf| {
            (is_plain_name && file.file_name() == Some(program.as_os_str()))
                || program.canonicalize().is_ok_and(|program| file.canonicalize().is_ok_and(|file| file == program))
        };
        self.files.iter().filter(|file| file.is_file()).find(is_it).map(PathBuf::as_path)
    }

    /// Form-encodes a command. If its first word is the path of a shipped file, it becomes the file's name in the task's directory.
    fn encoded(&self, command: &str) -> String {
        let (program, arguments) = command.split_once(' ').unwrap_or((command, ""));
        let canonical = |path: &Path| path.canonicalize().ok().filter(|path| path.is_file());
        let shipped = canonical(Path::new(program))
            .filter(|program| self.files.iter().filter_map(|file| canonical(file)).any(|file| file == *program));
        let name = shipped.and_then(|_| Path::new(program).file_name()).map(|name| name.to_string_lossy().into_owned());
        match name {
            Some(name) if arguments.is_empty() => form_encoded(&name),
            Some(name) => form_encoded(&format!("{name} {arguments}")),
            None => form_encoded(command),
        }
    }
}

/// Default name of a job: the mapper's command without the directory of its program.
fn default_job_name(command: &str) -> String {
    let (program, arguments) = command.split_at(command.find(' ').unwrap_or(command.len()));
    let program = program.rsplit('/').next().unwrap_or(program);
    format!("{program}{arguments}").chars().take(LONGEST_NAME).collect()
}

/// `application/x-www-form-urlencoded`, as in Java's `URLEncoder`.
fn form_encoded(text: &str) -> String {
    utf8_percent_encode(text, FORM).to_string().replace(' ', "+")
}

/// Escapes a path for a comma-separated list (1.2.1 `StringUtils.escapeString`).
fn comma_escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace(',', "\\,")
}

#[cfg(test)]
mod tests {
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
            input_format: InputFormat::Text,
            partitioner: None,
            environment: vec![("DUMPDIR".into(), "/data/lab/dump".into()), ("GREETING".into(), "hello".into())],
            streaming_jar: None,
        }
    }

    fn set(job: &StreamingJob) -> BTreeMap<String, String> {
        let mut properties = BTreeMap::new();
        job.set(&mut properties);
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
    fn maps_alone_have_no_reduces() {
        let ours = set(&StreamingJob { reducer: Reducer::None, ..job() });
        assert_eq!(
            (ours["mapred.reduce.tasks"].as_str(), ours["stream.reduce.streamprocessor"].as_str()),
            ("0", "NONE")
        );
        assert_eq!(ours["mapred.job.name"], "python3 m.py");
        assert_eq!(default_job_name("/usr/bin/tr a /b"), "tr a /b");
    }

    #[test]
    fn the_identity_is_a_class_and_no_command() {
        let ours =
            set(&StreamingJob { reducer: Reducer::parse("org.apache.hadoop.mapred.lib.IdentityReducer"), ..job() });
        assert_eq!(ours["mapred.reducer.class"], "org.apache.hadoop.mapred.lib.IdentityReducer");
        assert_eq!((ours.get("stream.reduce.streamprocessor"), ours["mapred.reduce.tasks"].as_str()), (None, "2"));
        assert_eq!(["NONE", "none"].map(Reducer::parse), [Reducer::None, Reducer::None]);
        assert_eq!(Reducer::parse("wc -l"), Reducer::Command("wc -l".into()));
    }

    #[test]
    fn a_shipped_program_is_named_as_it_will_lie_there() {
        let folder = tempfile::tempdir().unwrap();
        let map = folder.path().join("map.py");
        std::fs::write(&map, "").unwrap();
        let job = StreamingJob { files: vec![map.clone()], ..job() };
        assert_eq!(job.encoded(&format!("{} -v", map.display())), "map.py+-v");
        assert_eq!(job.encoded(&map.display().to_string()), "map.py");
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
        let files = vec![dos.clone(), missing, good];
        let faults = |mapper: &str, combiner: Option<&str>, reducer: &str| {
            let (mapper, combiner) = (mapper.to_owned(), combiner.map(str::to_owned));
            let job =
                StreamingJob { mapper, combiner, reducer: Reducer::parse(reducer), files: files.clone(), ..job() };
            job.script_faults().iter().map(ScriptFault::is_of_file).collect::<Vec<_>>()
        };
        assert_eq!(faults("m.py -v", None, "NONE"), [true], "by its name in the task's directory");
        assert_eq!(faults(&dos.display().to_string(), Some("m.py"), "r.py"), [true, false], "each once");
        assert_eq!(
            faults("good.sh", Some("./m.py"), "cat"),
            Vec::<bool>::new(),
            "what is not brought is not looked at"
        );
        assert_eq!(faults("python3 m.py", None, "NONE"), Vec::<bool>::new(), "another program reads it");
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
        for good in ["sh -c 'grep x | sort'", "grep a|b", "awk \"{ print > $1 }\"", ""] {
            assert_eq!(shell_word(good), None, "{good}");
        }
    }
}
