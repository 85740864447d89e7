//! Hadoop's spellings: `job submit` takes the options of Hadoop Streaming (1.2.1 `StreamJob`, `GenericOptionsParser`) as they are; elsewhere
//! the error names ours.

use std::ffi::OsString;

use crate::model::edit_distance;

/// What an option of Hadoop Streaming becomes.
#[derive(Clone, Copy)]
enum Meaning {
    /// Our option, with the same value.
    Option(&'static str),
    /// Our option, once for each part between commas outside of braces.
    Each(&'static str),
    /// Properties, all with this value.
    Properties(&'static [&'static str]),
    /// Local files, or files of another file system.
    Files,
    CacheFile,
    InputFormat,
    /// A record reader, and properties of its own.
    InputReader,
    /// Our option, without a value.
    Flag(&'static str),
    /// Nothing, and no value.
    Nothing,
    /// Not taken; what is expected.
    Refused(&'static str),
}

const OF_STREAMING: &[(&str, Meaning)] = &[
    ("-input", Meaning::Each("--input")),
    ("-output", Meaning::Option("--output")),
    ("-mapper", Meaning::Option("--mapper")),
    ("-combiner", Meaning::Option("--combiner")),
    ("-reducer", Meaning::Option("--reducer")),
    ("-file", Meaning::Option("--file")),
    ("-files", Meaning::Files),
    ("-archives", Meaning::Each("--archive")),
    ("-cacheFile", Meaning::CacheFile),
    ("-cacheArchive", Meaning::Option("--archive")),
    ("-cmdenv", Meaning::Option("--env")),
    ("-numReduceTasks", Meaning::Option("--reduces")),
    ("-partitioner", Meaning::Option("--partitioner")),
    ("-jobconf", Meaning::Option("-D")),
    ("-jt", Meaning::Option("--jobtracker")),
    ("-inputformat", Meaning::InputFormat),
    ("-inputreader", Meaning::InputReader),
    ("-outputformat", Meaning::Properties(&["mapred.output.format.class"])),
    (
        "-io",
        Meaning::Properties(&["stream.map.input", "stream.map.output", "stream.reduce.input", "stream.reduce.output"]),
    ),
    ("-mapdebug", Meaning::Properties(&["mapred.map.task.debug.script"])),
    ("-reducedebug", Meaning::Properties(&["mapred.reduce.task.debug.script"])),
    ("-fs", Meaning::Properties(&["fs.default.name"])),
    ("-dfs", Meaning::Properties(&["fs.default.name"])),
    ("-background", Meaning::Flag("--detach")),
    ("-help", Meaning::Flag("--help")),
    ("-info", Meaning::Flag("--help")),
    ("-verbose", Meaning::Nothing),
    ("-debug", Meaning::Nothing),
    ("-conf", Meaning::Refused("--conf DIR, the folder of the file")),
    ("-additionalconfspec", Meaning::Refused("--conf DIR, the folder of the file")),
    ("-libjars", Meaning::Refused("--file JAR for a command that reads it; `hadoop jar` submits jobs of Java classes")),
];

/// Command, Hadoop's spelling, ours.
const OF_COMMANDS: &[(&str, &str, &str)] = &[
    ("job", "-submit", "job submit"),
    ("job", "-list", "job list"),
    ("job", "-status", "job status JOB"),
    ("job", "-kill", "job kill JOB"),
    ("job", "-counter", "job counters JOB"),
    ("job", "-events", "job events JOB"),
    ("job", "-history", "job status JOB"),
    ("job", "-set-priority", "job priority JOB PRIORITY"),
    ("job", "-kill-task", "job kill-task ATTEMPT"),
    ("job", "-fail-task", "job fail-task ATTEMPT"),
    ("job", "-logs", "job logs JOB"),
    ("job", "-list-attempt-ids", "job tasks JOB"),
    ("job", "-list-active-trackers", "workers list"),
    ("job", "-list-blacklisted-trackers", "workers list"),
    ("queue", "-list", "queue list"),
    ("queue", "-info", "queue info QUEUE"),
    ("queue", "-showacls", "queue list"),
];

/// Words that people write for an option or a command, and ours.
const MEANT: &[(&str, &str)] = &[
    ("-numReducers", "-numReduceTasks"),
    ("-numReduces", "-numReduceTasks"),
    ("-numMapTasks", "-D mapred.map.tasks=N, which only suggests a number"),
    ("-numMappers", "-D mapred.map.tasks=N, which only suggests a number"),
    ("--comparator", "-D mapred.output.key.comparator.class=CLASS"),
    ("-comparator", "-D mapred.output.key.comparator.class=CLASS"),
    ("--priority", "-D mapred.job.priority=PRIORITY"),
    ("-priority", "-D mapred.job.priority=PRIORITY"),
    ("--reducers", "--reduces N"),
    ("--maps", "-D mapred.map.tasks=N, which only suggests a number"),
];

const INPUT_FORMAT: &str = "mapred.input.format.class";
const IDENTITY: &str = "org.apache.hadoop.mapred.lib.IdentityReducer";

/// The words of a command line, in our spelling. Errors: what is Hadoop's spelling and not taken, with ours.
pub(super) fn in_our_spelling(words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let word = |at: usize| words.get(at).and_then(|word| word.to_str());
    let (Some(command), Some(second)) = (word(1), word(2)) else { return Ok(words) };
    if (command, second) == ("job", "submit") {
        let (start, options) = words.split_at(3);
        let translated = Translation::of(options)?;
        return Ok(start.iter().cloned().chain(translated).collect());
    }
    if (command, second) == ("job", "resume") {
        return Err("job resume: there is no such command; did you mean `jobtracker job release JOB`?".to_owned());
    }
    match OF_COMMANDS.iter().find(|(of, theirs, _)| (*of, *theirs) == (command, second)) {
        Some((_, _, ours)) => Err(format!("{command} {second} is Hadoop's spelling; expected `jobtracker {ours}`")),
        None => Ok(words),
    }
}

/// Options of `job submit` while they are translated.
#[derive(Default)]
struct Translation {
    words: Vec<OsString>,
    cache_files: Vec<String>,
    has_theirs: bool,
    has_reducer: bool,
    has_no_reduces: bool,
    has_input_format: bool,
    has_input_reader: bool,
}

impl Translation {
    fn of(options: &[OsString]) -> Result<Vec<OsString>, String> {
        let mut translation = Self::default();
        let mut rest = options.iter();
        while let Some(word) = rest.next() {
            let meaning = word.to_str().and_then(|word| OF_STREAMING.iter().find(|(theirs, _)| *theirs == word));
            let Some((theirs, meaning)) = meaning else {
                if let Some(error) = word.to_str().and_then(misspelt) {
                    return Err(error);
                }
                translation.has_reducer |=
                    word.to_str().is_some_and(|word| word.split('=').next() == Some("--reducer"));
                translation.words.push(word.clone());
                continue;
            };
            translation.has_theirs = true;
            match *meaning {
                Meaning::Nothing => {}
                Meaning::Flag(ours) => translation.words.push(ours.into()),
                Meaning::Refused(expected) => {
                    return Err(format!("job submit {theirs} is Hadoop's spelling and not taken; expected {expected}"));
                }
                meaning => {
                    let value = rest.next().ok_or_else(|| format!("job submit {theirs}: expected a value after it"))?;
                    translation.add(theirs, meaning, value);
                }
            }
        }
        Ok(translation.finish())
    }

    fn add(&mut self, theirs: &str, meaning: Meaning, value: &OsString) {
        self.has_reducer |= theirs == "-reducer";
        self.has_no_reduces |= theirs == "-numReduceTasks" && value == "0";
        let text = value.to_string_lossy();
        match meaning {
            Meaning::Option(ours) => self.words.extend([ours.into(), value.clone()]),
            Meaning::Each(ours) => parts(&text).for_each(|part| self.words.extend([ours.into(), part.into()])),
            Meaning::Properties(names) => names.iter().for_each(|name| self.property(name, &text)),
            Meaning::Files => parts(&text).for_each(|part| match part.strip_prefix("file:") {
                Some(local) => {
                    self.words.extend(["--file".into(), format!("/{}", local.trim_start_matches('/')).into()])
                }
                None if part.contains(":/") => self.cache_files.push(part.to_owned()),
                None => self.words.extend(["--file".into(), part.into()]),
            }),
            Meaning::CacheFile => self.cache_files.push(text.into_owned()),
            Meaning::InputFormat => self.input_format(&text),
            Meaning::InputReader => {
                self.has_input_reader = true;
                let mut settings = text.split(',');
                self.property("stream.recordreader.class", settings.next().unwrap_or_default());
                for setting in settings {
                    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
                    self.property(&format!("stream.recordreader.{name}"), value);
                }
            }
            Meaning::Flag(_) | Meaning::Nothing | Meaning::Refused(_) => {}
        }
    }

    fn property(&mut self, name: &str, value: &str) {
        self.words.extend(["-D".into(), format!("{name}={value}").into()]);
    }

    /// Short names are those that the stock tool knows.
    fn input_format(&mut self, class: &str) {
        self.has_input_format = true;
        let ours = match class.strip_prefix("org.apache.hadoop.mapred.").unwrap_or(class) {
            "TextInputFormat" => "text",
            "KeyValueTextInputFormat" => "keyvalue",
            "lib.NLineInputFormat" => "nline",
            short @ ("SequenceFileInputFormat" | "SequenceFileAsTextInputFormat") => {
                return self.property(INPUT_FORMAT, &format!("org.apache.hadoop.mapred.{short}"));
            }
            _ => return self.property(INPUT_FORMAT, class),
        };
        self.words.extend(["--input-format".into(), ours.into()]);
    }

    fn finish(mut self) -> Vec<OsString> {
        if !self.cache_files.is_empty() {
            self.property("mapred.cache.files", &self.cache_files.join(","));
        }
        if self.has_input_reader && !self.has_input_format {
            self.property(INPUT_FORMAT, "org.apache.hadoop.streaming.StreamInputFormat");
        }
        // Without one Hadoop writes the sorted output of the maps, or has no reduces.
        if self.has_theirs && !self.has_reducer {
            let reducer = if self.has_no_reduces { "NONE" } else { IDENTITY };
            self.words.extend(["--reducer".into(), reducer.into()]);
        }
        self.words
    }
}

/// The error of a word that is almost one of Hadoop's options, or stands for another.
fn misspelt(word: &str) -> Option<String> {
    let name = word.split('=').next().unwrap_or(word);
    if let Some((_, meant)) = MEANT.iter().find(|(other, _)| *other == name) {
        return Some(format!("job submit {name}: there is no such option; did you mean {meant}?"));
    }
    let is_long = word.len() > 4 && word.starts_with('-') && word[1..].starts_with(|c: char| c.is_ascii_alphabetic());
    let near = |theirs: &&str| edit_distance(&word.to_ascii_lowercase(), &theirs.to_ascii_lowercase(), 1).is_some();
    let meant =
        OF_STREAMING.iter().map(|(theirs, _)| *theirs).filter(|_| is_long && !word.starts_with("-D")).find(near)?;
    Some(format!("job submit {word}: there is no such option; did you mean {meant}?"))
}

/// The parts of a list, which commas separate outside of braces (1.2.1 `FileInputFormat.getPathStrings`).
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    let parts = text.split(move |c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(line: &str) -> Result<String, String> {
        let words = format!("jobtracker {line}").split(' ').map(OsString::from).collect();
        let words: Vec<_> =
            in_our_spelling(words)?.into_iter().skip(1).map(|word| word.into_string().unwrap()).collect();
        Ok(words.join(" "))
    }

    #[test]
    fn options_of_hadoop_streaming_are_taken_as_they_are() {
        let taken = |line: &str| ours(&format!("job submit {line}")).unwrap();
        let rest = "--mapper cat --reducer cat";
        assert_eq!(
            taken(
                "-input a,{b,c}/d -input e -output o -mapper m.py -reducer NONE -file m.py -cmdenv A=b -numReduceTasks 0"
            ),
            "job submit --input a --input {b,c}/d --input e --output o --mapper m.py --reducer NONE --file m.py --env A=b --reduces 0"
        );
        assert_eq!(
            taken(&format!("-files a,file:///b#c,hdfs://n/d#e -archives f.zip -cacheFile hdfs://n/g#h {rest}")),
            format!(
                "job submit --file a --file /b#c --archive f.zip {rest} -D mapred.cache.files=hdfs://n/d#e,hdfs://n/g#h"
            )
        );
        assert_eq!(
            taken(&format!(
                "-inputformat KeyValueTextInputFormat -outputformat a.B -io typedbytes -jobconf a=b {rest}"
            )),
            format!(
                "job submit --input-format keyvalue -D mapred.output.format.class=a.B -D stream.map.input=typedbytes \
                 -D stream.map.output=typedbytes -D stream.reduce.input=typedbytes -D stream.reduce.output=typedbytes -D a=b {rest}"
            )
        );
        assert_eq!(
            taken(&format!("-inputreader a.Xml,begin=x -verbose {rest}")),
            format!(
                "job submit -D stream.recordreader.class=a.Xml -D stream.recordreader.begin=x {rest} \
                 -D mapred.input.format.class=org.apache.hadoop.streaming.StreamInputFormat"
            )
        );
        assert_eq!(
            taken("-mapper cat"),
            "job submit --mapper cat --reducer org.apache.hadoop.mapred.lib.IdentityReducer"
        );
        assert_eq!(taken("-mapper cat -numReduceTasks 0"), "job submit --mapper cat --reduces 0 --reducer NONE");
        let own = "--input a --output b --mapper cat";
        assert_eq!(taken(own), format!("job submit {own}"), "our own spelling has no default");
    }

    #[test]
    fn what_is_not_taken_names_ours() {
        let refused = |line: &str| ours(line).unwrap_err();
        assert_eq!(refused("job -list all"), "job -list is Hadoop's spelling; expected `jobtracker job list`");
        assert_eq!(refused("job -kill job_1"), "job -kill is Hadoop's spelling; expected `jobtracker job kill JOB`");
        assert_eq!(
            refused("queue -info a"),
            "queue -info is Hadoop's spelling; expected `jobtracker queue info QUEUE`"
        );
        assert!(refused("job submit -libjars a.jar").contains("`hadoop jar`"));
        assert_eq!(
            refused("job submit -numReduceTask 2"),
            "job submit -numReduceTask: there is no such option; did you mean -numReduceTasks?"
        );
        assert_eq!(
            refused("job submit -numReducers 2"),
            "job submit -numReducers: there is no such option; did you mean -numReduceTasks?"
        );
        assert_eq!(
            refused("job submit --comparator=x"),
            "job submit --comparator: there is no such option; did you mean -D mapred.output.key.comparator.class=CLASS?"
        );
        assert!(refused("job resume job_1").contains("jobtracker job release"));
        assert_eq!(refused("job submit -mapper"), "job submit -mapper: expected a value after it");
        for fine in ["job list", "job", "status", "queue list", "job logs -x"] {
            assert_eq!(ours(fine), Ok(fine.to_owned()));
        }
    }
}
