//! Options of `jobtracker job submit`, and their conversion to a streaming job.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::api::{DueText, parse_duration_ms};
use crate::cli::time_text::{format_due, parse_due};
use crate::cli::values::{queue_name, whole_number};
use crate::client::job::JobClientError;
use crate::client::job::streaming::{InputFormat, Reducer, ShippedFile, StreamingJob};
use crate::client::job::view::DeadlineLine;
use crate::config::keys::Key;
use crate::config::{ConfigError, JobConfError, keys};
use crate::fs::FileUri;
use crate::model::Credits;

use super::connection::{ConnectionArguments, JobCommandError};

/// Options of `job submit`.
#[derive(Clone, Debug, clap::Args, serde::Serialize, serde::Deserialize)]
pub(crate) struct SubmitArguments {
    /// Input file, directory or pattern; can be repeated
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    input: Vec<String>,
    /// Output directory; must not exist
    #[arg(long, value_name = "PATH")]
    output: String,
    /// Map command: reads records from standard input, writes `key TAB value` lines
    #[arg(long, value_name = "COMMAND")]
    mapper: String,
    /// Reduce command: reads the lines of the maps sorted by key; NONE for no reduces;
    /// org.apache.hadoop.mapred.lib.IdentityReducer to write the sorted lines unchanged
    #[arg(long, value_name = "COMMAND|NONE")]
    reducer: String,
    /// Combiner command, which combines the output of each map
    #[arg(long, value_name = "COMMAND")]
    combiner: Option<String>,
    /// File to ship to the working directory of each task, or a directory for all files in it; #NAME gives it another name
    #[arg(long, value_name = "FILE[#NAME]", value_hint = clap::ValueHint::AnyPath, num_args = 1..)]
    file: Vec<String>,
    /// Archive (.tgz, .tar.gz, .tar, .zip, .jar) where workers read the input, unpacked as NAME in the working directory of each task;
    /// default: its own name
    #[arg(long, value_name = "PATH[#NAME]", value_hint = clap::ValueHint::AnyPath, num_args = 1..)]
    #[serde(default)]
    archive: Vec<String>,
    /// Number of reduces; default: as configured, else 1
    #[arg(long, value_name = "NUMBER", value_parser = whole_number::<0>)]
    reduces: Option<u32>,
    /// Input format: lines; lines of key, tab, value; N lines for each map
    /// (mapred.line.input.format.linespermap); default: text, or -D mapred.input.format.class
    #[arg(long, value_enum, value_name = "FORMAT")]
    input_format: Option<FormatArgument>,
    /// Partitioner of keys over reduces: hash, keyfield, or the name of a Java class
    #[arg(long, value_name = "PARTITIONER")]
    partitioner: Option<String>,
    /// Environment variable for the commands
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Job name; default: the mapper
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Queue; default: for a signed job the queue of the user's name if it exists, else as configured
    #[arg(long, value_name = "QUEUE", value_parser = queue_name)]
    queue: Option<String>,
    /// Set a property of the job
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    properties: Vec<String>,
    /// Deadline, and what tasks take.
    #[command(flatten)]
    pub(super) deadline: DeadlineArguments,
    /// hadoop-streaming-1.2.1.jar, without which stock TaskTrackers cannot run the job; default: the one in
    /// $HADOOP_HOME/contrib/streaming
    #[arg(long, value_name = "FILE")]
    streaming_jar: Option<PathBuf>,
    /// Follow the job to its end (the default)
    #[arg(long, conflicts_with = "detach")]
    wait: bool,
    /// Replace the output directory if it holds what a job of yours wrote
    #[arg(long, conflicts_with = "dry_run")]
    pub(super) overwrite: bool,
    /// Print all counters at the end, not only the most important ones
    #[arg(long, conflicts_with = "detach")]
    pub(super) counters: bool,
    /// Exit as soon as the job is accepted
    #[arg(long)]
    pub(super) detach: bool,
    /// Show what the deadline needs, costs and when the job would end, and submit nothing
    #[arg(long, requires = "deadline", conflicts_with_all = ["detach", "wait"])]
    pub(super) dry_run: bool,
    /// JobTracker, signer, output form.
    #[command(flatten)]
    #[serde(skip)]
    pub(super) connection: ConnectionArguments,
}

/// Input formats.
#[derive(Clone, Copy, Debug, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
enum FormatArgument {
    Text,
    Keyvalue,
    Nline,
}

/// The keys that name the queue.
const QUEUE_KEYS: [Key; 3] = [keys::QUEUE_NAME, keys::QUEUE_NAME_LATER, keys::QUEUE_NAME_DOCUMENTED];

/// Directory of the streaming jar below `HADOOP_HOME`.
const STREAMING_FOLDER: &str = "contrib/streaming";

impl SubmitArguments {
    pub(super) fn commands(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let given = [
            ("--mapper", Some(&self.mapper)),
            ("--reducer", Some(&self.reducer)),
            ("--combiner", self.combiner.as_ref()),
        ];
        given.into_iter().filter_map(|(option, command)| Some((option, command?.as_str())))
    }

    pub(super) fn change(
        &mut self,
        output: Option<String>,
        name: Option<&String>,
        queue: Option<&String>,
        properties: &[String],
    ) {
        let (name_is_given, queue_is_given) = (name.is_some(), queue.is_some());
        if let Some(output) = output {
            self.output = output;
        }
        // What was signed by hand is signed once; another queue or name takes the place of whichever option gave the first.
        let is_replaced = |property: &String| {
            let name = property.split_once('=').map_or("", |(name, _)| name.trim());
            let is_of = |key: &Key, is_given: bool| is_given && key.spellings().any(|spelling| spelling == name);
            [keys::JOB_SIGNATURE, keys::JOB_TIMESTAMP].iter().any(|key| is_of(key, true))
                || is_of(&keys::JOB_NAME, name_is_given)
                || QUEUE_KEYS.iter().any(|key| is_of(key, queue_is_given))
        };
        self.properties.retain(|property| !is_replaced(property));
        self.name = name.or(self.name.as_ref()).cloned();
        self.queue = queue.or(self.queue.as_ref()).cloned();
        self.properties.extend_from_slice(properties);
    }

    /// Properties of the job, `key=value`.
    pub(super) fn properties(&self) -> Vec<String> {
        [self.properties.clone(), self.deadline.properties()].concat()
    }

    /// An error in the words of this command line: options, not the keys of the job that they set.
    pub(super) fn explained(&self, error: JobClientError) -> JobCommandError {
        let given = |key: &str| match self.deadline.option_of(key) {
            Some(option) => format!("{option} "),
            None if key == keys::QUEUE_NAME.name && self.queue.is_some() => "--queue ".to_owned(),
            None => format!("-D {key}="),
        };
        let text = match &error {
            JobClientError::JobConf(conf) => match &**conf {
                JobConfError::Value(value) => self.deadline.explained(value),
                JobConfError::QueuesDiffer { key, queue, other_key, other_queue } => Some(format!(
                    "{}{queue} and {}{other_queue} name two queues; expected one",
                    given(key),
                    given(other_key)
                )),
                _ => None,
            },
            JobClientError::Unsupported(unsupported) => {
                unsupported.value().and_then(|value| self.deadline.explained(value))
            }
            _ => None,
        };
        text.map_or_else(|| error.into(), JobCommandError::Argument)
    }

    /// The job, with paths relative to `working_dir`, and on its file system where they have no scheme.
    pub(super) fn job(&self, working_dir: &FileUri) -> Result<StreamingJob, JobCommandError> {
        let inputs = self.input.iter().map(|path| uri("--input", path, working_dir)).collect::<Result<_, _>>()?;
        let reducer = Reducer::parse(&self.reducer);
        for (option, command) in self.commands() {
            if command.trim().is_empty() {
                return Err(JobCommandError::Argument(format!("{option} is empty; expected a command")));
            }
        }
        if reducer == Reducer::None && self.reduces.is_some_and(|reduces| reduces > 0) {
            return Err(JobCommandError::Argument(
                "--reducer NONE means no reduces; expected no --reduces or --reduces 0".to_owned(),
            ));
        }
        let partitioner = self.partitioner.as_deref().map(|name| match name {
            "hash" => "org.apache.hadoop.mapred.lib.HashPartitioner",
            "keyfield" => "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner",
            class => class,
        });
        Ok(StreamingJob {
            name: self.name.clone(),
            queue: self.queue.clone(),
            inputs,
            output: uri("--output", &self.output, working_dir)?,
            mapper: self.mapper.clone(),
            combiner: self.combiner.clone(),
            reducer,
            reduces: self.reduces,
            files: self.file.iter().map(|file| ShippedFile::parse(file)).collect(),
            archives: self.archive.iter().map(|path| archive(path, working_dir)).collect::<Result<_, _>>()?,
            input_format: self.input_format.map(|format| match format {
                FormatArgument::Text => InputFormat::Text,
                FormatArgument::Keyvalue => InputFormat::KeyValue,
                FormatArgument::Nline => InputFormat::Lines,
            }),
            partitioner: partitioner.map(str::to_owned),
            environment: self.env.clone(),
            streaming_jar: self.streaming_jar.clone().or_else(installed_streaming_jar),
        })
    }
}

/// The URI of an archive, with the name that its content gets.
fn archive(given: &str, working_dir: &FileUri) -> Result<String, JobCommandError> {
    let (path, name) = given.split_once('#').unwrap_or((given, ""));
    let file = uri("--archive", path, working_dir)?;
    let name = if name.is_empty() { file.name().unwrap_or_default() } else { name };
    Ok(format!("{file}#{name}"))
}

fn uri(option: &str, path: &str, working_dir: &FileUri) -> Result<FileUri, JobCommandError> {
    let refused = |reason: String| JobCommandError::Argument(format!("{option} {reason}"));
    // A scheme consists of letters and digits, followed by `:/`.
    let is_scheme = |scheme: &str| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_uri = path.split_once(":/").is_some_and(|(scheme, _)| is_scheme(scheme));
    if is_uri || path.starts_with('/') {
        return working_dir.resolve(path).map_err(|error| refused(error.to_string()));
    }
    if path.is_empty() {
        return Err(refused("is empty; expected a path".to_owned()));
    }
    if path.starts_with('~') && !working_dir.local_path().is_some_and(|folder| folder.join(path).exists()) {
        let reason =
            format!("{path}: only a shell replaces ~, and not within quotes; expected $HOME or the whole path");
        return Err(refused(reason));
    }
    let whole = format!("{}/{path}", working_dir.path());
    working_dir.resolve(&whole).map_err(|error| refused(error.to_string()))
}

fn installed_streaming_jar() -> Option<PathBuf> {
    let home = std::env::var_os("HADOOP_HOME").filter(|home| !home.is_empty())?;
    let jars = std::fs::read_dir(Path::new(&home).join(STREAMING_FOLDER)).ok()?;
    let is_streaming = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("hadoop-streaming-") && name.ends_with(".jar")
    };
    jars.filter_map(|entry| Some(entry.ok()?.path())).filter(is_streaming).min()
}

/// Parses `NAME=VALUE`. Blanks are refused: tasks split the list of variables at blanks.
fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some(("", _)) => Err("the name is missing; expected NAME=VALUE".to_owned()),
        Some(_) if text.contains(char::is_whitespace) => {
            Err("a task would split it at the blank; expected NAME=VALUE without blanks".to_owned())
        }
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err("expected NAME=VALUE".to_owned()),
    }
}

/// Options that state a deadline.
#[derive(Clone, Debug, Default, clap::Args, serde::Serialize, serde::Deserialize)]
pub(crate) struct DeadlineArguments {
    /// When the job must be done: a duration from now, such as 20m, or a time, such as 18:00 or 2026-11-22T18:00, local unless
    /// it has an offset; one of today that is past is of tomorrow
    #[arg(long, value_name = "DURATION|TIME", value_parser = parse_due, allow_hyphen_values = true)]
    deadline: Option<DueText>,
    /// Time that a map takes, such as 40s; default: as configured
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms, requires = "deadline")]
    map_time: Option<u64>,
    /// Time that a reduce takes, such as 3m; default: as configured
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms, requires = "deadline")]
    reduce_time: Option<u64>,
    /// Map output by map input, such as 0.3; default: 1
    #[arg(long, value_name = "RATIO", requires = "deadline")]
    filter_ratio: Option<String>,
    /// Bid up to this rate in the market for what the deadline needs
    #[arg(long, value_name = "CREDITS", requires = "deadline")]
    pub(super) max_rate: Option<Credits>,
    /// Cost of the job above which only the queue's own rate is bid
    #[arg(long, value_name = "CREDITS", requires = "max_rate")]
    pub(super) max_cost: Option<Credits>,
}

impl DeadlineArguments {
    /// Properties of the job, `key=value`.
    pub(super) fn properties(&self) -> Vec<String> {
        let property = |name: &str, value: &dyn fmt::Display| format!("mapred.job.deadline.{name}={value}");
        let deadline = self.deadline.map(|due| match due {
            DueText::AfterMs(ms) => property("ms", &ms),
            DueText::AtMs(ms) => property("at.ms", &ms),
        });
        let map = self.map_time.map(|ms| property("map.task.ms", &ms));
        let reduce = self.reduce_time.map(|ms| property("reduce.task.ms", &ms));
        let ratio = self.filter_ratio.as_ref().map(|ratio| property("filter.ratio", ratio));
        let rate = self.max_rate.map(|rate| property("max.rate", &rate));
        let cost = self.max_cost.map(|cost| property("max.cost", &cost));
        [deadline, map, reduce, ratio, rate, cost].into_iter().flatten().collect()
    }

    pub(super) fn passed(&self, now_ms: i64) -> Option<String> {
        match self.deadline? {
            DueText::AtMs(due_ms) if due_ms <= now_ms => Some(format_due(due_ms, due_ms.saturating_sub(now_ms))),
            DueText::AtMs(_) | DueText::AfterMs(_) => None,
        }
    }

    /// The error of a value that one of these options gave.
    pub(super) fn explained(&self, error: &ConfigError) -> Option<String> {
        let ConfigError::BadValue { key, value, expected, .. } = error else { return None };
        Some(format!("{} {value}: expected {expected}", self.option_of(key)?))
    }

    fn option_of(&self, key: &str) -> Option<&'static str> {
        let is_set =
            self.properties().iter().any(|property| property.split_once('=').is_some_and(|(name, _)| name == key));
        let option = match key.strip_prefix("mapred.job.deadline.").filter(|_| is_set)? {
            "ms" | "at.ms" => "--deadline",
            "map.task.ms" => "--map-time",
            "reduce.task.ms" => "--reduce-time",
            "filter.ratio" => "--filter-ratio",
            "max.rate" => "--max-rate",
            "max.cost" => "--max-cost",
            _ => return None,
        };
        Some(option)
    }

    pub(super) const fn is_stated(&self) -> bool {
        self.deadline.is_some()
    }
}

/// When a job that was submitted at `start_ms`, epoch ms, is due, such as `18:00 CET (in 6 h 35 m)`.
pub(super) fn due_text(deadline: &DeadlineLine, start_ms: i64) -> String {
    let ms = |seconds: &str| seconds.parse::<f64>().map_or(0, |seconds| (seconds * 1_000.0).round() as i64);
    format_due(start_ms.saturating_add(ms(&deadline.after_s)), ms(&deadline.left_s))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::config::{Configuration, JobConf};

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        submit: SubmitArguments,
    }

    fn job(line: &str) -> Result<StreamingJob, String> {
        let words = ["submit"].into_iter().chain(line.split('|'));
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        line.submit.job(&FileUri::parse("/home/alice").unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_and_names_become_hadoops() {
        let job = job("--input|in/*.txt|/data/x|--input|file:///y|--output|out|--mapper|cat|--reducer|NONE|--partitioner|keyfield|--env|A=b=c|--input-format|nline").unwrap();
        let inputs: Vec<_> = job.inputs.iter().map(ToString::to_string).collect();
        assert_eq!(inputs, ["file:/home/alice/in/*.txt", "file:/data/x", "file:/y"]);
        assert_eq!(job.output.to_string(), "file:/home/alice/out");
        assert_eq!(job.partitioner.as_deref(), Some("org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner"));
        assert_eq!(job.environment, [("A".to_owned(), "b=c".to_owned())]);
        assert_eq!((job.reducer, job.input_format), (Reducer::None, Some(InputFormat::Lines)));
    }

    #[test]
    fn values_of_options_are_called_by_their_options() {
        let explained = |line: &str, properties: &[&str]| {
            let all = "--input|a --output|b --mapper|cat --reducer|NONE ".to_owned() + line;
            let line = Line::try_parse_from(["submit"].into_iter().chain(all.split([' ', '|']))).unwrap();
            let overrides: Vec<String> = properties.iter().map(|property| (*property).to_owned()).collect();
            let overrides = [line.submit.properties(), overrides].concat();
            let mut configuration = Configuration::default();
            overrides.iter().for_each(|property| configuration.add_override(property).unwrap());
            let error = JobConf::from_configuration(&configuration).unwrap_err();
            line.submit.explained(JobClientError::JobConf(Box::new(error))).to_string()
        };
        let ratio = explained("--deadline 5m --filter-ratio 30%", &[]);
        assert!(ratio.starts_with("--filter-ratio 30%: expected "), "{ratio}");
        let rate = explained("--deadline 5m --max-rate=-1", &[]);
        assert!(rate.starts_with("--max-rate -1.0: expected credits from 0"), "{rate}");
        let queues = explained("--queue a", &["mapred.job.queue.name=a", "mapreduce.job.queue.name=b"]);
        assert_eq!(queues, "-D mapreduce.job.queue.name=b and --queue a name two queues; expected one");
        let own = explained("--queue a", &["mapred.job.priority=high"]);
        assert!(own.starts_with("-D: mapred.job.priority = \"high\": expected "), "{own}");
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |line: &str| job(line).unwrap_err();
        let with = |more: &str| refused(&format!("--input|in|--output|out|--mapper|cat|--reducer|cat|{more}"));
        assert!(refused("--output|out|--mapper|cat|--reducer|cat").contains("--input <PATH>"));
        assert!(
            refused("--input|s3://n:1/x|--output|out|--mapper|cat|--reducer|cat")
                .contains("unknown file system \"s3\"")
        );
        assert!(refused("--input|in|--output|out|--mapper| |--reducer|cat").contains("--mapper is empty"));
        assert!(
            refused("--input|in|--output|out|--mapper|cat|--reducer|NONE|--reduces|2")
                .contains("--reducer NONE means no reduces")
        );
        assert!(with("--env|A=b c").contains("split it at the blank"));
        assert!(with("--env|A").contains("expected NAME=VALUE"));
        assert!(with("--wait|--detach").contains("cannot be used with"));
        assert!(with("--reduces|many").contains("invalid value 'many'"));
    }
}

#[cfg(test)]
mod deadline_arguments_tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        deadline: DeadlineArguments,
    }

    fn properties(line: &str) -> Result<Vec<String>, String> {
        let line = Line::try_parse_from(["submit"].into_iter().chain(line.split_whitespace()));
        line.map(|line| line.deadline.properties()).map_err(|error| error.to_string())
    }

    #[test]
    fn options_become_properties() {
        let all = properties("--deadline 20m --map-time 40s --reduce-time 1h30m --filter-ratio 0.3").unwrap();
        let expected = ["ms=1200000", "map.task.ms=40000", "reduce.task.ms=5400000", "filter.ratio=0.3"];
        assert_eq!(all, expected.map(|property| format!("mapred.job.deadline.{property}")));
        let order = properties("--deadline 20m --max-rate 2.5 --max-cost 40").unwrap();
        let expected = ["ms=1200000", "max.rate=2.5", "max.cost=40.0"];
        assert_eq!(order, expected.map(|property| format!("mapred.job.deadline.{property}")));
        let at = properties("--deadline 1970-01-02T00:00Z").unwrap();
        assert_eq!(at, ["mapred.job.deadline.at.ms=86400000"]);
        assert!(properties("").unwrap().is_empty());
    }

    #[test]
    fn mistakes_name_option_value_and_what_was_expected() {
        for line in
            ["--deadline soon", "--deadline 0s", "--deadline=-5m", "--deadline 20", "--deadline 999999999999999h"]
        {
            let error = properties(line).unwrap_err();
            let value = line.split([' ', '=']).next_back().unwrap();
            assert!(error.contains("--deadline") && error.contains(&format!("'{value}'")), "{error}");
            assert!(error.contains("expected a duration above 0 such as 20m, or a time"), "{error}");
        }
        let error = properties("--deadline -5m").unwrap_err();
        assert!(error.contains("'-5m'") && error.contains("expected a duration above 0"), "{error}");
        let error = properties("--deadline 5m --map-time 0s").unwrap_err();
        assert!(error.contains("'0s'") && error.contains("expected a duration above 0 such as 40s"), "{error}");
        let error = properties("--deadline 5m --max-rate much").unwrap_err();
        assert!(error.contains("'much'") && error.contains("--max-rate <CREDITS>"), "{error}");
        let error = properties("--deadline 5m --max-cost 3").unwrap_err();
        assert!(error.contains("--max-rate <CREDITS>"), "{error}");
        let error = properties("--map-time 5s").unwrap_err();
        assert!(error.contains("--deadline <DURATION|TIME>"), "{error}");
    }
}
