//! A streaming job, and the properties that the stock streaming tool (1.2.1 `StreamJob`) writes to job.xml.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::config::keys;
use crate::config::keys::Key;
use crate::fs::{FileUri, ScriptFault, script_fault};
use crate::model::{edit_distance, named};
use crate::streaming::command_line::unclosed_quote;

/// Processing of the map output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reducer {
    /// A command reads it.
    Command(String),
    /// It is sorted and written unchanged.
    Identity,
    /// Its values are aggregated as its keys say, and combined so.
    Aggregate,
    /// No reduces: the map output is the job's output.
    None,
}

/// How input becomes records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// Lines.
    Text,
    /// Lines of key, tab, value.
    KeyValue,
    /// Lines, N for each map (`mapred.line.input.format.linespermap`).
    Lines,
    /// A Java class whose splits are parts of files.
    Java(String),
}

/// The form in which a command reads or writes records, as 1.2.1 `IdentifierResolver` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordForm {
    Text,
    RawBytes,
    TypedBytes,
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
    pub files: Vec<ShippedFile>,
    /// Archives on the file systems of the input, unpacked in the working directory of its tasks: `URI#NAME`.
    pub archives: Vec<String>,
    /// How input is read; default: from `-D`, else lines.
    pub input_format: Option<InputFormat>,
    /// Class of the partitioner; default: by hash.
    pub partitioner: Option<String>,
    /// Environment variables of the commands: names and values without blanks.
    pub environment: Vec<(String, String)>,
    /// `hadoop-streaming-1.2.1.jar`, which stock TaskTrackers need.
    pub streaming_jar: Option<PathBuf>,
}

/// A file or directory shipped with a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShippedFile {
    pub(crate) path: PathBuf,
    /// Its name in the working directory of tasks; default: its own, and that of a directory's content.
    pub(crate) name: Option<String>,
}

/// Characters that form encoding leaves unchanged, except for blanks.
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'*').remove(b'_').remove(b' ');
/// Maximum length of a name made from a command, characters.
const LONGEST_NAME: usize = 60;

/// A word of a command that only a shell would act on, or replace: no shell runs commands of streaming jobs, which get it as
/// an argument. Words behind a quote are left to whichever program gets them.
pub(crate) fn shell_word(command: &str) -> Option<&str> {
    const SHELL_WORDS: [&str; 8] = ["|", "||", "&", "&&", ";", "<", ">", ">>"];
    let unquoted = command.split(['\'', '"']).next().unwrap_or_default();
    let is_replaced = |word: &str| {
        let mut names = word.match_indices('$').filter_map(|(at, _)| word[at + 1..].chars().next());
        names.any(|first| first.is_ascii_alphabetic() || matches!(first, '_' | '{' | '(')) || word.contains('`')
    };
    unquoted.split_whitespace().find(|word| SHELL_WORDS.contains(word) || is_replaced(word))
}

impl ShippedFile {
    /// A file under its own name.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, name: None }
    }

    /// Parses `PATH` or `PATH#NAME`; a file whose own name has the `#` is that file.
    pub(crate) fn parse(text: &str) -> Self {
        match text.rsplit_once('#') {
            Some((path, name)) if !Path::new(text).exists() && !path.is_empty() && !name.is_empty() => {
                Self { path: path.into(), name: Some(name.to_owned()) }
            }
            _ => Self::new(text.into()),
        }
    }

    /// Its name in the working directory, if it is a file.
    fn task_name(&self) -> Option<&OsStr> {
        self.name.as_deref().map(OsStr::new).or_else(|| self.path.file_name())
    }
}

impl Reducer {
    const IDENTITY: &str = "org.apache.hadoop.mapred.lib.IdentityReducer";

    /// Parses the stock tool's argument: `NONE`, here in small letters too, `aggregate`, the identity's class name, or a command.
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            none if none.eq_ignore_ascii_case("NONE") => Self::None,
            aggregate if aggregate.eq_ignore_ascii_case("aggregate") => Self::Aggregate,
            Self::IDENTITY => Self::Identity,
            command => Self::Command(command.to_owned()),
        }
    }

    const fn class(&self) -> &'static str {
        match self {
            Self::Command(_) | Self::None => "org.apache.hadoop.streaming.PipeReducer",
            Self::Identity => Self::IDENTITY,
            Self::Aggregate => "org.apache.hadoop.mapred.lib.aggregate.ValueAggregatorReducer",
        }
    }
}

impl InputFormat {
    const TEXT: &str = "org.apache.hadoop.mapred.TextInputFormat";
    const LINES: &str = "org.apache.hadoop.mapred.lib.NLineInputFormat";

    /// The format of a Java class.
    pub(crate) fn of_class(class: &str) -> Self {
        match class.trim() {
            Self::TEXT => Self::Text,
            Self::LINES => Self::Lines,
            class => Self::Java(class.to_owned()),
        }
    }

    /// The Java class that the stock tool uses.
    pub(crate) fn class(&self) -> &str {
        match self {
            Self::Text => Self::TEXT,
            Self::KeyValue => "org.apache.hadoop.streaming.StreamInputFormat",
            Self::Lines => Self::LINES,
            Self::Java(class) => class,
        }
    }
}

// The begins of the names of its classes.
named!(RecordForm { Text = "Text", RawBytes = "RawBytes", TypedBytes = "TypedBytes" });

impl RecordForm {
    /// What a property names; text if it is not set. What is none is refused with the other values of the job.
    fn of(properties: &BTreeMap<String, String>, key: &Key) -> Self {
        match properties.get(key.name).map(|form| form.trim()) {
            Some("rawbytes") => Self::RawBytes,
            Some("typedbytes") => Self::TypedBytes,
            _ => Self::Text,
        }
    }

    const fn data_class(self) -> &'static str {
        match self {
            Self::Text => "org.apache.hadoop.io.Text",
            Self::RawBytes => "org.apache.hadoop.io.BytesWritable",
            Self::TypedBytes => "org.apache.hadoop.typedbytes.TypedBytesWritable",
        }
    }
}

/// The classes of records between tasks and commands, by the forms that `properties` name.
fn set_record_forms(properties: &mut BTreeMap<String, String>) {
    let forms = [
        (&keys::MAP_INPUT_FORM, &keys::MAP_INPUT_WRITER_CLASS, None),
        (&keys::REDUCE_INPUT_FORM, &keys::REDUCE_INPUT_WRITER_CLASS, None),
        (
            &keys::MAP_OUTPUT_FORM,
            &keys::MAP_OUTPUT_READER_CLASS,
            Some([&keys::MAP_OUTPUT_KEY_CLASS, &keys::MAP_OUTPUT_VALUE_CLASS]),
        ),
        (
            &keys::REDUCE_OUTPUT_FORM,
            &keys::REDUCE_OUTPUT_READER_CLASS,
            Some([&keys::OUTPUT_KEY_CLASS, &keys::OUTPUT_VALUE_CLASS]),
        ),
    ];
    let forms = forms.map(|(form, class, data)| (RecordForm::of(properties, form), class, data));
    let mut set = |name: &str, value: &str| {
        properties.insert(name.to_owned(), value.to_owned());
    };
    for (form, class, data) in forms {
        let kind = if data.is_some() { "OutputReader" } else { "InputWriter" };
        set(class.name, &format!("org.apache.hadoop.streaming.io.{}{kind}", form.name()));
        data.into_iter().flatten().for_each(|key| set(key.name, form.data_class()));
    }
}

impl StreamingJob {
    /// How its input is read, where `given` is the class that `-D` names.
    pub(super) fn input_format_or(&self, given: Option<&str>) -> InputFormat {
        self.input_format.clone().or_else(|| given.map(InputFormat::of_class)).unwrap_or(InputFormat::Text)
    }

    /// Sets the properties that the stock tool sets, overriding configured ones; formats of input and output that `-D` names in
    /// `given` stay.
    pub(crate) fn set(&self, given: &BTreeMap<&str, &str>, properties: &mut BTreeMap<String, String>) {
        set_record_forms(properties);
        self.set_input_and_output(given, properties);
        self.set_commands(properties);
        let mut set = |name: &str, value: &str| {
            properties.insert(name.to_owned(), value.to_owned());
        };
        if let Some(partitioner) = &self.partitioner {
            set("mapred.partitioner.class", partitioner);
        }
        let environment: Vec<_> = self.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        set("stream.addenvironment", &environment.join(" "));
        if !self.archives.is_empty() {
            let earlier = given.get(keys::CACHE_ARCHIVES.name).map(|archives| (*archives).to_owned());
            let archives: Vec<String> = earlier.into_iter().chain(self.archives.iter().cloned()).collect();
            set(keys::CACHE_ARCHIVES.name, &archives.join(","));
        }
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

    fn set_input_and_output(&self, given: &BTreeMap<&str, &str>, properties: &mut BTreeMap<String, String>) {
        let mut set = |name: &str, value: &str| {
            properties.insert(name.to_owned(), value.to_owned());
        };
        let inputs: Vec<_> = self.inputs.iter().map(|input| comma_escaped(&input.to_string())).collect();
        set("mapred.input.dir", &inputs.join(","));
        set("stream.numinputspecs", &self.inputs.len().to_string());
        set("mapred.output.dir", &self.output.to_string());
        let input_format = keys::INPUT_FORMAT_CLASS.name;
        set(input_format, self.input_format_or(given.get(input_format).copied()).class());
        let output_format = keys::OUTPUT_FORMAT_CLASS.name;
        set(output_format, given.get(output_format).copied().unwrap_or("org.apache.hadoop.mapred.TextOutputFormat"));
    }

    /// Mapper, combiner and reducer, and how many reduces there are.
    fn set_commands(&self, properties: &mut BTreeMap<String, String>) {
        let mut set = |name: &str, value: &str| {
            properties.insert(name.to_owned(), value.to_owned());
        };
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
            Reducer::Aggregate => {
                set("mapred.combiner.class", "org.apache.hadoop.mapred.lib.aggregate.ValueAggregatorCombiner");
            }
            Reducer::None => set("stream.reduce.streamprocessor", "NONE"),
        }
        match (&self.reducer, self.reduces) {
            (Reducer::None, _) => set("mapred.reduce.tasks", "0"),
            (_, Some(reduces)) => set("mapred.reduce.tasks", &reduces.to_string()),
            (_, None) => {}
        }
    }

    fn commands(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let reducer = match &self.reducer {
            Reducer::Command(command) => Some(command),
            Reducer::Identity | Reducer::Aggregate | Reducer::None => None,
        };
        let given = [("--mapper", Some(&self.mapper)), ("--combiner", self.combiner.as_ref()), ("--reducer", reducer)];
        given.into_iter().filter_map(|(option, command)| Some((option, command?.as_str())))
    }

    /// A command with a quote that is not closed, the option that gives it, and the quote.
    pub(crate) fn unclosed_quote(&self) -> Option<(&'static str, &str, char)> {
        self.commands().find_map(|(option, command)| Some((option, command, unclosed_quote(command)?)))
    }

    /// What keeps scripts that it brings, and its commands start, from starting here. A worker may have interpreters that this
    /// machine has not.
    pub(crate) fn script_faults(&self) -> Vec<ScriptFault> {
        let search_path = std::env::var("PATH").ok();
        let mut faults = Vec::new();
        for (_, command) in self.commands() {
            let script = self.shipped_program(command).and_then(|file| file.canonicalize().ok());
            let fault = script.and_then(|script| script_fault(&script, script.parent()?, search_path.as_deref()));
            faults.extend(fault.filter(|fault| !faults.contains(fault)));
        }
        faults
    }

    /// A command that is the name of a Java class, as `org.example.Sum`, and no file here, and the option that gives it: nothing could
    /// start it.
    pub(crate) fn java_class(&self) -> Option<(&'static str, &str)> {
        self.commands().map(|(option, command)| (option, command.trim())).find(|(_, command)| {
            is_java_class(command) && self.shipped_program(command).is_none() && !Path::new(command).exists()
        })
    }

    /// A reducer of one word that is almost `aggregate`, and no program here.
    pub(crate) fn misspelt_aggregate(&self) -> Option<&str> {
        const MOST_EDITS: usize = 2;
        let Reducer::Command(command) = &self.reducer else { return None };
        let is_near = edit_distance(&command.to_ascii_lowercase(), "aggregate", MOST_EDITS).is_some();
        let is_here = self.shipped_program(command).is_some() || Path::new(command).exists();
        (is_near && !is_here).then_some(command)
    }

    /// Files that its commands name and that are here, but are not shipped with it: each with the option of its command. What is
    /// unpacked or lies on every worker is not known here.
    pub(crate) fn unshipped_files(&self) -> Vec<(&'static str, String)> {
        let search_path = std::env::var("PATH").unwrap_or_default();
        let mut found: Vec<(&'static str, String)> = Vec::new();
        for (option, command) in self.commands() {
            // Words behind a quote are left to whichever program gets them.
            let unquoted = command.split(['\'', '"']).next().unwrap_or_default();
            for (at, word) in unquoted.split_whitespace().enumerate() {
                let is_program = at == 0;
                // A plain word may be anything.
                let looks_like_file = is_program || word.contains(['.', '/']);
                let is_known = found.iter().any(|(_, known)| known == word);
                if looks_like_file && !is_known && self.is_here_alone(word, is_program.then_some(&*search_path)) {
                    found.push((option, word.to_owned()));
                }
            }
        }
        found
    }

    /// Whether a word of a command is the relative path of a file here that no worker gets; a program may be one of the system's.
    fn is_here_alone(&self, word: &str, search_path: Option<&str>) -> bool {
        let path = Path::new(word);
        let is_shipped = || {
            self.shipped_program(word).is_some()
                || self.files.iter().any(|file| file.task_name() == path.file_name() || file.path.is_dir())
        };
        let is_of_system = |search_path: &str| {
            !word.contains('/') && search_path.split(':').any(|place| Path::new(place).join(word).is_file())
        };
        path.is_relative()
            && path.is_file()
            && self.archives.is_empty()
            && !is_shipped()
            && !search_path.is_some_and(is_of_system)
    }

    /// The file that a command starts, if the job brings it: under its path here, or under its name in the task's directory.
    fn shipped_program(&self, command: &str) -> Option<&Path> {
        let program = Path::new(command.split(' ').next()?);
        let is_plain_name = program.components().count() == 1 && !program.is_absolute();
        let is_it = |file: &&ShippedFile| {
            (is_plain_name && file.task_name() == Some(program.as_os_str()))
                || program
                    .canonicalize()
                    .is_ok_and(|program| file.path.canonicalize().is_ok_and(|file| file == program))
        };
        self.files.iter().filter(|file| file.path.is_file()).find(is_it).map(|file| file.path.as_path())
    }

    /// Form-encodes a command. If its first word is the path of a shipped file, it becomes the file's name in the task's directory.
    fn encoded(&self, command: &str) -> String {
        let (program, arguments) = command.split_once(' ').unwrap_or((command, ""));
        let canonical = |path: &Path| path.canonicalize().ok().filter(|path| path.is_file());
        let shipped = canonical(Path::new(program)).and_then(|program| {
            self.files.iter().find(|file| canonical(&file.path).is_some_and(|file| file == program))
        });
        let own_name = Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned());
        let name = shipped.and_then(|file| file.name.clone().or(own_name));
        match name {
            Some(name) if arguments.is_empty() => form_encoded(&name),
            Some(name) => form_encoded(&format!("{name} {arguments}")),
            None => form_encoded(command),
        }
    }
}

/// Whether a text is the name of a class in a package: names in small letters, at least two, then one that begins with a capital.
fn is_java_class(text: &str) -> bool {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'));
    let Some((packages, class)) = text.rsplit_once('.') else { return false };
    let begins_small = |name: &str| name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    class.starts_with(|c: char| c.is_ascii_uppercase())
        && is_name(class)
        && packages.contains('.')
        && packages.split('.').all(|name| begins_small(name) && is_name(name))
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
#[path = "tests/streaming.rs"]
mod tests;
