//! A streaming job as its tasks run it, read from job.xml, or why only a stock TaskTracker can run it. The JobTracker reads the same plan
//! before it assigns a job to a built-in tasktracker, since a tracker cannot refuse a task.

use std::time::Duration;

use thiserror::Error;

use crate::config::keys::Key;
use crate::config::{ConfigError, Configuration, keys};
use crate::fs::{FileUri, FileUriError};

use super::aggregate::AggregateRules;
use super::codec::Codec;
use super::command_line::CommandLine;
use super::command_stream::FieldRule;
use super::committer::COMMITTER;
use super::key_fields::{BadKeyOption, KeyFields};
use super::key_order::{KeyOrder, Partitioner};
use super::split_reader::{LineFormat, ReadRules};

/// Why a built-in tasktracker cannot run a job.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnsupportedJob {
    #[error("{key} is {class:?}; a built-in tasktracker knows {expected}: a stock TaskTracker runs it")]
    Class {
        key: &'static str,
        /// The class; empty when none is set.
        class: String,
        expected: &'static str,
    },
    #[error("{key} is {class:?}, which lacks its package: expected {expected}")]
    NoPackage { key: &'static str, class: String, expected: &'static str },
    #[error("{key} = {value:?}: {why}: a stock TaskTracker runs it")]
    Option { key: &'static str, value: String, why: &'static str },
    #[error("{key}: {error}")]
    KeyOptions { key: &'static str, error: BadKeyOption },
    #[error(transparent)]
    Value(#[from] ConfigError),
    #[error("mapred.output.dir: {0}")]
    Output(#[from] FileUriError),
}

/// What a command reads and how its output is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPlan {
    pub(crate) command: CommandLine,
    /// Between key and value on its standard input.
    pub(crate) input_separator: Vec<u8>,
    /// How lines of its output become records.
    pub(crate) output: FieldRule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortedStep {
    Command(CommandPlan),
    /// Their values are aggregated as their keys say.
    Aggregate(AggregateRules),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortPlan {
    /// Number of reduces, at least 1.
    pub reduces: u32,
    pub partitioner: Partitioner,
    /// The order of keys, and what makes a group.
    pub order: KeyOrder,
    pub codec: Option<Codec>,
    /// What runs over each sorted run.
    pub combine: Option<SortedStep>,
    /// Memory for the output of a map, bytes.
    pub memory_bytes: u64,
    /// How full it may get, bytes.
    pub spill_at_bytes: u64,
    pub factor: usize,
    /// Runs of a map from which on their merge is combined again.
    pub least_spills_to_combine: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FetchTimeouts {
    pub(crate) connect: Duration,
    /// For its next bytes.
    pub(crate) read: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShufflePlan {
    pub(crate) parallel_copies: usize,
    pub(crate) timeouts: FetchTimeouts,
    /// Failures of one output between two reports.
    pub(crate) max_fetch_failures: u32,
    /// Whether a failed read is reported at once.
    pub(crate) notifies_read_errors: bool,
    /// Memory for outputs, bytes.
    pub(crate) memory_bytes: u64,
    /// Bytes in memory from which on they are merged to disk.
    pub(crate) merge_at_bytes: u64,
    /// Outputs in memory from which on they are merged to disk.
    pub(crate) merge_at_outputs: usize,
}

/// Limits of commands, and what their exit status means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcessPlan {
    /// Whether a status other than 0 fails the attempt.
    pub(crate) non_zero_exit_is_failure: bool,
    pub(crate) reporter_prefix: String,
    /// Longest time without activity.
    pub(crate) time_limit: Option<Duration>,
    pub(crate) kill_delay: Duration,
    /// For output after the end of the command.
    pub(crate) join_delay: Option<Duration>,
    /// Most virtual memory of each process of a map, kB.
    pub(crate) map_ulimit_kb: Option<u64>,
    /// Most virtual memory of each process of a reduce, kB.
    pub(crate) reduce_ulimit_kb: Option<u64>,
    /// Address space requested for the processes of a map.
    pub(crate) map_memory_bytes: Option<u64>,
    pub(crate) reduce_memory_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputPlan {
    pub(crate) folder: FileUri,
    /// Between key and value.
    pub(crate) separator: Vec<u8>,
    pub(crate) codec: Option<Codec>,
}

/// A streaming job that a built-in tasktracker can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamingPlan {
    pub(crate) input: LineFormat,
    pub(crate) read: ReadRules,
    pub(crate) map: CommandPlan,
    /// `None`: there are no reduces, maps write the output.
    pub(crate) sort: Option<SortPlan>,
    /// The reducer; `None`: records pass as they are.
    pub(crate) reduce: Option<SortedStep>,
    pub(crate) shuffle: ShufflePlan,
    pub(crate) output: OutputPlan,
    pub(crate) process: ProcessPlan,
}

const PIPE_MAPPER: &str = "org.apache.hadoop.streaming.PipeMapper";
const PIPE_MAP_RUNNER: &str = "org.apache.hadoop.streaming.PipeMapRunner";
const PIPE_REDUCER: &str = "org.apache.hadoop.streaming.PipeReducer";
const IDENTITY_REDUCER: &str = "org.apache.hadoop.mapred.lib.IdentityReducer";
const AGGREGATE_REDUCER: &str = "org.apache.hadoop.mapred.lib.aggregate.ValueAggregatorReducer";
const AGGREGATE_COMBINER: &str = "org.apache.hadoop.mapred.lib.aggregate.ValueAggregatorCombiner";
const PIPE_COMBINER: &str = "org.apache.hadoop.streaming.PipeCombiner";
const TEXT_WRITER: &str = "org.apache.hadoop.streaming.io.TextInputWriter";
const TEXT_READER: &str = "org.apache.hadoop.streaming.io.TextOutputReader";
const TEXT: &str = "org.apache.hadoop.io.Text";
const TEXT_INPUT: &str = "org.apache.hadoop.mapred.TextInputFormat";
const KEY_VALUE_INPUT: &str = "org.apache.hadoop.mapred.KeyValueTextInputFormat";
const LINES_INPUT: &str = "org.apache.hadoop.mapred.lib.NLineInputFormat";
const STREAM_INPUT: &str = "org.apache.hadoop.streaming.StreamInputFormat";
const TEXT_OUTPUT: &str = "org.apache.hadoop.mapred.TextOutputFormat";
const HASH_PARTITIONER: &str = "org.apache.hadoop.mapred.lib.HashPartitioner";
const FIELD_PARTITIONER: &str = "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner";
const FIELD_COMPARATOR: &str = "org.apache.hadoop.mapred.lib.KeyFieldBasedComparator";

/// The heap of a stock task without `-Xmx`, bytes.
const DEFAULT_HEAP_BYTES: u64 = 200 << 20;

/// Reads the values of one job.
struct JobReader<'a> {
    configuration: &'a Configuration,
}

/// Checks what no worker could run the job with, stock or built-in: values that are none of their keys', and options of key fields that
/// Hadoop refuses too. Errors: [`UnsupportedJob`] names the key and what was expected.
pub(crate) fn check_values(configuration: &Configuration) -> Result<(), UnsupportedJob> {
    for key in [keys::JOB, keys::STREAMING].into_iter().flatten() {
        configuration.checked(key)?;
    }
    let has_class =
        |key: &Key, class| Ok::<_, ConfigError>(configuration.text(key)?.is_some_and(|set| set.trim() == class));
    let partitions_by_count = configuration.checked(&keys::PARTITION_KEY_FIELDS)?.is_some();
    for (is_read, key) in [
        (has_class(&keys::KEY_COMPARATOR_CLASS, FIELD_COMPARATOR)?, keys::COMPARATOR_OPTIONS),
        (has_class(&keys::PARTITIONER_CLASS, FIELD_PARTITIONER)? && !partitions_by_count, keys::PARTITIONER_OPTIONS),
    ] {
        let options = configuration.text(&key)?.filter(|_| is_read).unwrap_or_default();
        KeyFields::parse(b'\t', &options).map_err(|error| UnsupportedJob::KeyOptions { key: key.name, error })?;
    }
    Ok(())
}

impl UnsupportedJob {
    /// The value of a key that cannot be used, if that is why.
    pub(crate) fn value(&self) -> Option<&ConfigError> {
        match self {
            Self::Value(error) => Some(error),
            _ => None,
        }
    }
}

impl StreamingPlan {
    /// Reads the job's configuration: job.xml over the cluster's values.
    pub(crate) fn read(configuration: &Configuration) -> Result<Self, UnsupportedJob> {
        let job = JobReader { configuration };
        job.check_interfaces()?;
        let reduces: u32 = configuration.number(&keys::REDUCE_TASKS)?;
        let command = job.command(&keys::MAP_COMMAND)?.ok_or(UnsupportedJob::Class {
            key: keys::MAP_COMMAND.name,
            class: String::new(),
            expected: "streaming commands",
        })?;
        let map = CommandPlan {
            command,
            input_separator: job.separator(&keys::MAP_INPUT_SEPARATOR)?,
            output: job.fields(&keys::MAP_OUTPUT_SEPARATOR, &keys::MAP_KEY_FIELDS)?,
        };
        let reduce = if reduces > 0 { job.reducer()? } else { None };
        let output_folder = configuration.required(&keys::OUTPUT_DIR)?.value;
        Ok(StreamingPlan {
            input: job.input_format()?,
            read: ReadRules {
                longest_line_bytes: configuration.number(&keys::LONGEST_LINE)?,
                block_bytes: configuration.number(&keys::IO_BUFFER)?,
            },
            map,
            sort: if reduces > 0 { Some(job.sort(reduces)?) } else { None },
            reduce,
            shuffle: job.shuffle()?,
            output: OutputPlan {
                folder: configuration.resolve(&output_folder)?,
                separator: job.separator(&keys::TEXT_OUTPUT_SEPARATOR)?,
                codec: job.codec(&keys::OUTPUT_COMPRESS, &keys::OUTPUT_CODEC)?,
            },
            process: job.process()?,
        })
    }

    /// Name of the file that a task writes: `part-00000` and the codec's extension.
    pub(crate) fn part_name(&self, partition: u32) -> String {
        format!("part-{partition:05}{}", self.output.codec.map_or("", Codec::extension))
    }
}

impl JobReader<'_> {
    fn class(&self, key: &Key) -> Result<String, UnsupportedJob> {
        Ok(self.configuration.checked(key)?.map_or_else(String::new, |setting| setting.value.trim().to_owned()))
    }

    /// The class must be one of these; `default` stands for none.
    fn known_class(
        &self,
        key: &Key,
        default: &'static str,
        known: &[&'static str],
        expected: &'static str,
    ) -> Result<String, UnsupportedJob> {
        let class = self.class(key)?;
        let class = if class.is_empty() { default.to_owned() } else { class };
        if known.contains(&class.as_str()) {
            return Ok(class);
        }
        match known.iter().find(|full| full.rsplit_once('.').is_some_and(|(_, short)| short == class)) {
            Some(expected) => Err(UnsupportedJob::NoPackage { key: key.name, class, expected }),
            None => Err(UnsupportedJob::Class { key: key.name, class, expected }),
        }
    }

    fn check_interfaces(&self) -> Result<(), UnsupportedJob> {
        for key in [&keys::MAPPER_NEW_API, &keys::REDUCER_NEW_API] {
            if self.configuration.flag(key)? {
                let why = "only Java code has the interface `mapreduce`";
                return Err(UnsupportedJob::Option { key: key.name, value: "true".to_owned(), why });
            }
        }
        self.known_class(&keys::MAPPER_CLASS, "", &[PIPE_MAPPER], "streaming commands")?;
        self.known_class(&keys::MAP_RUNNER_CLASS, "", &[PIPE_MAP_RUNNER], "streaming commands")?;
        for key in [&keys::MAP_INPUT_WRITER_CLASS, &keys::REDUCE_INPUT_WRITER_CLASS] {
            self.known_class(key, TEXT_WRITER, &[TEXT_WRITER], "text")?;
        }
        for key in [&keys::MAP_OUTPUT_READER_CLASS, &keys::REDUCE_OUTPUT_READER_CLASS] {
            self.known_class(key, TEXT_READER, &[TEXT_READER], "text")?;
        }
        let data = [
            &keys::MAP_OUTPUT_KEY_CLASS,
            &keys::MAP_OUTPUT_VALUE_CLASS,
            &keys::OUTPUT_KEY_CLASS,
            &keys::OUTPUT_VALUE_CLASS,
        ];
        for key in data {
            self.known_class(key, TEXT, &[TEXT], "text")?;
        }
        self.known_class(&keys::OUTPUT_FORMAT_CLASS, TEXT_OUTPUT, &[TEXT_OUTPUT], "TextOutputFormat")?;
        self.known_class(&keys::OUTPUT_COMMITTER_CLASS, COMMITTER, &[COMMITTER], "FileOutputCommitter")?;
        for key in [&keys::SKIP_MAP_RECORDS, &keys::SKIP_REDUCE_GROUPS] {
            if let Some(most) = self.configuration.limit::<u64>(key, 1)? {
                let why = "bad records are not skipped";
                return Err(UnsupportedJob::Option { key: key.name, value: most.to_string(), why });
            }
        }
        Ok(())
    }

    fn command(&self, key: &Key) -> Result<Option<CommandLine>, UnsupportedJob> {
        Ok(self.configuration.text(key)?.as_deref().and_then(CommandLine::decode))
    }

    fn separator(&self, key: &Key) -> Result<Vec<u8>, UnsupportedJob> {
        Ok(self.configuration.text(key)?.map_or_else(|| b"\t".to_vec(), String::into_bytes))
    }

    /// A separator of which one byte counts.
    fn separator_byte(&self, key: &Key) -> Result<u8, UnsupportedJob> {
        match *self.separator(key)? {
            [byte] => Ok(byte),
            ref bytes => Err(UnsupportedJob::Option {
                key: key.name,
                value: String::from_utf8_lossy(bytes).into_owned(),
                why: "only one byte separates",
            }),
        }
    }

    fn fields(&self, separator: &Key, count: &Key) -> Result<FieldRule, UnsupportedJob> {
        Ok(FieldRule { separator: self.separator(separator)?, key_fields: self.configuration.number(count)? })
    }

    /// `None`: records pass as they are.
    fn reducer(&self) -> Result<Option<SortedStep>, UnsupportedJob> {
        const EXPECTED: &str = "streaming commands, aggregate and IdentityReducer";
        let known = [PIPE_REDUCER, IDENTITY_REDUCER, AGGREGATE_REDUCER];
        match self.known_class(&keys::REDUCER_CLASS, IDENTITY_REDUCER, &known, EXPECTED)?.as_str() {
            IDENTITY_REDUCER => Ok(None),
            AGGREGATE_REDUCER => {
                let most_unique = self.configuration.limit(&keys::MOST_UNIQUE_VALUES, 1)?;
                Ok(Some(SortedStep::Aggregate(AggregateRules { most_unique })))
            }
            _ => self.reduce_side(&keys::REDUCE_COMMAND),
        }
    }

    /// `None`: records pass as they are.
    fn combiner(&self) -> Result<Option<SortedStep>, UnsupportedJob> {
        const EXPECTED: &str = "streaming commands and aggregate";
        let known = ["", PIPE_COMBINER, AGGREGATE_COMBINER];
        match self.known_class(&keys::COMBINER_CLASS, "", &known, EXPECTED)?.as_str() {
            "" => Ok(None),
            // In Hadoop the limit is for reduces only.
            AGGREGATE_COMBINER => Ok(Some(SortedStep::Aggregate(AggregateRules { most_unique: None }))),
            // A combiner without a command passes records as they are.
            _ => self.reduce_side(&keys::COMBINE_COMMAND),
        }
    }

    /// What combiner and reducer have in common: the combiner is cut by the reducer's keys too.
    fn reduce_side(&self, command: &Key) -> Result<Option<SortedStep>, UnsupportedJob> {
        let Some(command) = self.command(command)? else { return Ok(None) };
        Ok(Some(SortedStep::Command(CommandPlan {
            command,
            input_separator: self.separator(&keys::REDUCE_INPUT_SEPARATOR)?,
            output: self.fields(&keys::REDUCE_OUTPUT_SEPARATOR, &keys::REDUCE_KEY_FIELDS)?,
        })))
    }

    fn input_format(&self) -> Result<LineFormat, UnsupportedJob> {
        const KNOWN: [&str; 4] = [TEXT_INPUT, KEY_VALUE_INPUT, LINES_INPUT, STREAM_INPUT];
        const EXPECTED: &str = "TextInputFormat, KeyValueTextInputFormat, NLineInputFormat and StreamInputFormat";
        let class = self.known_class(&keys::INPUT_FORMAT_CLASS, TEXT_INPUT, &KNOWN, EXPECTED)?;
        let reader = self.class(&keys::RECORD_READER_CLASS)?;
        if class == STREAM_INPUT && !reader.is_empty() && !reader.contains("LineRecordReader") {
            return Err(UnsupportedJob::Class {
                key: keys::RECORD_READER_CLASS.name,
                class: reader,
                expected: "line readers",
            });
        }
        let inputs = self.configuration.text(&keys::INPUT_DIRS)?.unwrap_or_default();
        if let Some(input) = inputs.split(',').find(|input| Codec::is_foreign_file(input)) {
            let why = "of compressed files only gzip and zlib are read";
            return Err(UnsupportedJob::Option { key: keys::INPUT_DIRS.name, value: input.to_owned(), why });
        }
        Ok(match class.as_str() {
            TEXT_INPUT => LineFormat::Text,
            LINES_INPUT => LineFormat::NumberedLine,
            _ => {
                let separator = self.separator(&keys::INPUT_LINE_SEPARATOR)?;
                LineFormat::KeyValue { separator: separator.first().copied().unwrap_or(b'\t') }
            }
        })
    }

    fn codec(&self, compress: &Key, codec: &Key) -> Result<Option<Codec>, UnsupportedJob> {
        if !self.configuration.flag(compress)? {
            return Ok(None);
        }
        let class = self.class(codec)?;
        if class.is_empty() {
            return Ok(Some(Codec::Zlib));
        }
        let expected = "DefaultCodec and GzipCodec";
        Codec::of_class(&class).map(Some).ok_or(UnsupportedJob::Class { key: codec.name, class, expected })
    }

    fn key_options(&self, key: &Key) -> Result<KeyFields, UnsupportedJob> {
        let separator = self.separator_byte(&keys::KEY_FIELD_SEPARATOR)?;
        let options = self.configuration.text(key)?.unwrap_or_default();
        KeyFields::parse(separator, &options).map_err(|error| UnsupportedJob::KeyOptions { key: key.name, error })
    }

    fn sort(&self, reduces: u32) -> Result<SortPlan, UnsupportedJob> {
        let configuration = self.configuration;
        let partitioner = self.known_class(
            &keys::PARTITIONER_CLASS,
            HASH_PARTITIONER,
            &[HASH_PARTITIONER, FIELD_PARTITIONER],
            "HashPartitioner and KeyFieldBasedPartitioner",
        )?;
        let partitioner = match (partitioner == FIELD_PARTITIONER, configuration.checked(&keys::PARTITION_KEY_FIELDS)?)
        {
            (false, _) => Partitioner::Hash,
            (true, None) => Partitioner::Fields(self.key_options(&keys::PARTITIONER_OPTIONS)?),
            (true, Some(_)) => {
                let fields: u32 = configuration.number(&keys::PARTITION_KEY_FIELDS)?;
                let separator = self.separator_byte(&keys::KEY_FIELD_SEPARATOR)?;
                Partitioner::Fields(KeyFields::first(separator, fields as usize))
            }
        };
        let comparator =
            self.known_class(&keys::KEY_COMPARATOR_CLASS, "", &["", FIELD_COMPARATOR], "KeyFieldBasedComparator")?;
        let grouping = self.class(&keys::GROUP_COMPARATOR_CLASS)?;
        if !grouping.is_empty() && grouping != comparator {
            let expected = "groups of keys that are equal in the order";
            return Err(UnsupportedJob::Class { key: keys::GROUP_COMPARATOR_CLASS.name, class: grouping, expected });
        }
        let order = if comparator.is_empty() {
            KeyOrder::Bytes
        } else {
            KeyOrder::Fields(self.key_options(&keys::COMPARATOR_OPTIONS)?)
        };
        let memory_bytes = configuration.number::<u64>(&keys::SORT_MEMORY)? << 20;
        Ok(SortPlan {
            reduces,
            partitioner,
            order,
            codec: self.codec(&keys::MAP_OUTPUT_COMPRESS, &keys::MAP_OUTPUT_CODEC)?,
            combine: self.combiner()?,
            memory_bytes,
            spill_at_bytes: share(memory_bytes, configuration.ratio(&keys::SPILL_PERCENT)?.0),
            factor: configuration.number(&keys::SORT_FACTOR)?,
            least_spills_to_combine: configuration.number(&keys::LEAST_SPILLS_TO_COMBINE)?,
        })
    }

    fn shuffle(&self) -> Result<ShufflePlan, UnsupportedJob> {
        let configuration = self.configuration;
        let options = match configuration.text(&keys::REDUCE_CHILD_JAVA_OPTIONS)? {
            Some(options) => options,
            None => configuration.text(&keys::CHILD_JAVA_OPTIONS)?.unwrap_or_default(),
        };
        let heap_bytes = heap_bytes(&options).unwrap_or(DEFAULT_HEAP_BYTES);
        let memory_bytes = share(heap_bytes, configuration.ratio(&keys::SHUFFLE_MEMORY_PERCENT)?.0);
        let most_outputs = configuration.limit::<u32>(&keys::SHUFFLE_MERGE_THRESHOLD, 1)?;
        Ok(ShufflePlan {
            parallel_copies: configuration.number(&keys::PARALLEL_COPIES)?,
            timeouts: FetchTimeouts {
                connect: configuration.time_limit(&keys::FETCH_CONNECT_TIMEOUT)?,
                read: configuration.time_limit(&keys::FETCH_READ_TIMEOUT)?,
            },
            max_fetch_failures: configuration.number(&keys::MAX_FETCH_FAILURES)?,
            notifies_read_errors: configuration.flag(&keys::NOTIFY_READ_ERROR)?,
            memory_bytes,
            merge_at_bytes: share(memory_bytes, configuration.ratio(&keys::SHUFFLE_MERGE_PERCENT)?.0),
            merge_at_outputs: most_outputs.map_or(usize::MAX, |most| most as usize),
        })
    }

    fn process(&self) -> Result<ProcessPlan, UnsupportedJob> {
        let configuration = self.configuration;
        let milliseconds = |key: &Key| -> Result<Option<Duration>, ConfigError> {
            Ok(configuration.limit::<u64>(key, 1)?.map(Duration::from_millis))
        };
        let ulimit_kb = |key: &Key| -> Result<Option<u64>, ConfigError> {
            Ok(match configuration.limit::<u64>(key, 1)? {
                Some(limit) => Some(limit),
                None => configuration.limit::<u64>(&keys::CHILD_ULIMIT, 1)?,
            })
        };
        let memory_bytes = |key: &Key| -> Result<Option<u64>, ConfigError> {
            Ok(configuration.limit::<u64>(key, 1)?.map(|megabytes| megabytes << 20))
        };
        Ok(ProcessPlan {
            non_zero_exit_is_failure: configuration.flag(&keys::NON_ZERO_EXIT_IS_FAILURE)?,
            reporter_prefix: configuration.text(&keys::REPORTER_PREFIX)?.unwrap_or_default(),
            time_limit: milliseconds(&keys::TASK_TIMEOUT)?,
            kill_delay: Duration::from_millis(configuration.number(&keys::SIGKILL_DELAY)?),
            join_delay: milliseconds(&keys::JOIN_DELAY)?,
            map_ulimit_kb: ulimit_kb(&keys::MAP_CHILD_ULIMIT)?,
            reduce_ulimit_kb: ulimit_kb(&keys::REDUCE_CHILD_ULIMIT)?,
            map_memory_bytes: memory_bytes(&keys::JOB_MAP_MEMORY)?,
            reduce_memory_bytes: memory_bytes(&keys::JOB_REDUCE_MEMORY)?,
        })
    }
}

fn share(bytes: u64, parts_per_million: u64) -> u64 {
    (u128::from(bytes) * u128::from(parts_per_million) / 1_000_000) as u64
}

/// The last `-Xmx` of a Java command line, bytes.
fn heap_bytes(options: &str) -> Option<u64> {
    let size = options.split_ascii_whitespace().filter_map(|option| option.strip_prefix("-Xmx")).next_back()?;
    let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match size[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
#[path = "tests/plan.rs"]
mod tests;
