//! Options of `jobtracker run`, and what is submitted of them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::api::applications::ItemRules;
use crate::cli::app::AppCommandError;
use crate::cli::market_command::MarketArguments;
use crate::cli::time_text::parse_period_s;
use crate::cli::values::{queue_name, whole_number, whole_number_to};
use crate::client::applications::{Fault, FaultPlace, LocalFile, RunSubmission, WorkItems, count_items, items_fault};
use crate::model::{BroughtResource, Capability, LaunchContext, LocalResource, OutputPlace};

/// Digits of its SHA-256 in the name of a file of lines from elsewhere: other runs in this directory have other files.
const NAME_DIGITS: usize = 12;
/// A file that is nowhere.
const NULL_DEVICE: &str = "/dev/null";
/// Files there are not written over.
const DEVICES: &str = "/dev";
/// Variables that `--env-all` leaves out: of this shell alone, or a key.
const NOT_PASSED: [&str; 5] = ["_", "OLDPWD", "PWD", "SHLVL", "HADOOP_KEY"];
/// End of the help.
const EXIT_CODES: &str = "\
Without --array and --each-line, what the command writes comes out here, and its exit code is that of this command; it reads \
nothing. Ctrl-C kills it.
Exit codes: of the command, 128 + the number of the signal it died of; of items 0 if every one has ended with 0, else 1; \
otherwise 1 the command could not run or was ended from outside, 2 wrong usage or refused, 3 denied, 4 unreachable.";

/// Options of `run`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
#[group(id = "items", multiple = true, args = ["array", "each_line"])]
pub(crate) struct RunArguments {
    /// Name for people; default: that of the program
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Memory of each container, MB
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = whole_number::<1>)]
    memory: u32,
    /// Cores of each container
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = whole_number::<1>)]
    cores: u32,
    /// Set a variable of the command's environment; without a value, to what it is here
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// Pass the environment of this shell to the command; --env comes after it
    #[arg(long)]
    env_all: bool,
    /// Bring a file into the working directory, under its own name or this one
    #[arg(long, value_name = "[NAME=]PATH")]
    file: Vec<String>,
    /// Working directory, which must exist where the command runs; default: this one
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Run in a new folder, removed at the end, in place of a directory that exists
    #[arg(long, conflicts_with = "cwd")]
    scratch: bool,
    /// Kill the command after this time, such as 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_time_limit_ms)]
    time_limit: Option<u64>,
    /// Queue; default: your own under a market, else `default`
    #[arg(long, value_name = "QUEUE", value_parser = queue_name)]
    queue: Option<String>,
    /// Write the standard output to this file where the command runs, from the working directory; {} stands for the item
    #[arg(long, value_name = "PATH")]
    stdout: Option<String>,
    /// Write the standard error output to this file where the command runs
    #[arg(long, value_name = "PATH")]
    stderr: Option<String>,
    /// Print the application's id and return
    #[arg(long)]
    pub(super) detach: bool,
    /// Run once for each item, such as 1-1000 or 3,5,10-100:10; {} in the command, --env, --cwd, --stdout and --stderr
    /// stands for the item
    #[arg(long, value_name = "ITEMS", allow_hyphen_values = true)]
    array: Option<String>,
    /// Run once for each line of a file, with --array only for the lines of these numbers; {} stands for the line
    #[arg(long, value_name = "FILE")]
    each_line: Option<PathBuf>,
    /// Run an item up to N times until it ends with 0
    #[arg(long, value_name = "N", requires = "items", value_parser = whole_number_to::<1, 100>)]
    max_attempts: Option<u32>,
    /// Run at most N items at a time
    #[arg(long, value_name = "N", requires = "items", value_parser = whole_number::<1>)]
    max_running: Option<u32>,
    /// Drop the rest once more than N items have failed
    #[arg(long, value_name = "N", requires = "items", value_parser = whole_number::<0>)]
    max_fails: Option<u32>,
    /// Server, signer, output form.
    #[command(flatten)]
    pub(super) market: MarketArguments,
    /// Program and its arguments; no shell reads them
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<String>,
}

impl RunArguments {
    pub(super) fn submission(&self, directory: &Path) -> Result<RunSubmission, AppCommandError> {
        if self.market.json && !self.detach && self.array.is_none() && self.each_line.is_none() {
            let text = "--json needs --detach, --array or --each-line: else standard output is that of the command";
            return Err(AppCommandError::Argument(text.to_owned()));
        }
        let mut context = LaunchContext::of_command(self.command.clone());
        context.environment = self.environment()?;
        let cwd = self.cwd.as_ref().map_or_else(|| directory.to_owned(), |cwd| directory.join(cwd));
        if !self.scratch {
            context.working_directory = Some(utf8("--cwd", &cwd)?);
        }
        context.stdout = place(self.stdout.as_deref());
        context.stderr = place(self.stderr.as_deref());
        context.time_limit_ms = self.time_limit;
        for file in &self.file {
            let (name, resource) = brought_file(file, directory)?;
            if context.local_resources.insert(name.clone(), LocalResource::Brought(resource)).is_some() {
                return Err(AppCommandError::Argument(format!("--file {file:?}: two files are called {name:?}")));
            }
        }
        let work = self.work(directory, &mut context)?;
        if let Some(WorkItems { count, .. }) = work.as_ref().filter(|work| work.count > 1) {
            for (option, place) in [("--stdout", &context.stdout), ("--stderr", &context.stderr)] {
                if is_one_file(&context, place) {
                    let text = format!("{option} names one file for {count} items: put {{}} into it");
                    return Err(AppCommandError::Argument(text));
                }
            }
        }
        Ok(RunSubmission {
            name: self.name.clone().unwrap_or_else(|| self.program_name()),
            queue: self.queue.clone(),
            capability: Capability::new(self.memory, self.cores),
            context,
            work,
        })
    }

    /// The items; without any, braces in the command mean nothing.
    fn work(&self, directory: &Path, context: &mut LaunchContext) -> Result<Option<WorkItems>, AppCommandError> {
        let lines = self.each_line.as_ref().map(|path| add_lines(&directory.join(path), context)).transpose()?;
        let (items, count) = match (&self.array, lines) {
            (Some(items), _) => (items.clone(), count_of(items)?),
            (None, Some(lines)) => (format!("1-{lines}"), lines),
            (None, None) => {
                context.placeholder = None;
                return Ok(None);
            }
        };
        let rules = ItemRules { max_attempts: self.max_attempts, max_fails: self.max_fails };
        Ok(Some(WorkItems { items, count, max_running: self.max_running, rules }))
    }

    fn environment(&self) -> Result<BTreeMap<String, String>, AppCommandError> {
        let variable = |text: &String| match text.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => match std::env::var(text) {
                Ok(value) => Ok((text.clone(), value)),
                Err(error) => Err(AppCommandError::Argument(format!("--env {text}: {error}"))),
            },
        };
        let mut environment = if self.env_all { own_environment() } else { BTreeMap::new() };
        for text in &self.env {
            environment.extend([variable(text)?]);
        }
        Ok(environment)
    }

    fn program_name(&self) -> String {
        let program = self.command.first().map(Path::new).and_then(Path::file_name);
        program.map_or_else(|| "command".to_owned(), |name| name.to_string_lossy().into_owned())
    }
}

/// What of this process's environment a command may have: all but what describes this shell, what the worker sets, keys, and what no
/// launch may have.
fn own_environment() -> BTreeMap<String, String> {
    let is_name = |name: &str| {
        !name.starts_with(|first: char| first.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let is_passed = |name: &str| is_name(name) && !NOT_PASSED.contains(&name) && !name.starts_with("JOBTRACKER_");
    let texts =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(|(name, _)| is_passed(name)).collect()
}

fn count_of(items: &str) -> Result<u64, AppCommandError> {
    let refused = || AppCommandError::Argument(format!("--array {items:?}: {}", items_fault(items)));
    count_items(items).ok_or_else(refused)
}

/// Lets the placeholder stand for lines of a file; returns how many it has.
fn add_lines(path: &Path, context: &mut LaunchContext) -> Result<u64, AppCommandError> {
    let LocalFile { resource, lines } = read_file("--each-line", path)?;
    if lines == 0 {
        return Err(AppCommandError::Argument(format!("--each-line {}: the file is empty", path.display())));
    }
    let name = lines_name(path, context, &resource.sha256);
    context.local_resources.insert(name.clone(), LocalResource::Brought(resource));
    context.values_from = Some(name);
    Ok(lines)
}

/// `PATH` or `NAME=PATH`.
fn brought_file(text: &str, directory: &Path) -> Result<(String, BroughtResource), AppCommandError> {
    let (name, path) = match text.split_once('=') {
        Some((name, path)) => (name.to_owned(), path),
        None => {
            let name = Path::new(text).file_name().map(|name| name.to_string_lossy().into_owned());
            let unnamed = || AppCommandError::Argument(format!("--file {text:?} has no name; expected NAME=PATH"));
            (name.ok_or_else(unnamed)?, text)
        }
    };
    Ok((name, read_file("--file", &directory.join(path))?.resource))
}

/// The name of a file of lines in the working directory: its own if it lies there, so that nothing needs to be brought.
fn lines_name(path: &Path, context: &LaunchContext, sha256: &str) -> String {
    let is_plain = |below: &&Path| below.components().all(|part| matches!(part, Component::Normal(_)));
    let folder = context.working_directory.as_ref();
    let below = folder.and_then(|folder| path.strip_prefix(folder).ok()).filter(is_plain).and_then(Path::to_str);
    let elsewhere = || format!(".jobtracker-lines-{}", sha256.get(..NAME_DIGITS).unwrap_or(sha256));
    below.map_or_else(elsewhere, str::to_owned)
}

fn read_file(option: &'static str, path: &Path) -> Result<LocalFile, AppCommandError> {
    utf8(option, path)?;
    LocalFile::read(path).map_err(|source| AppCommandError::File { option, path: path.display().to_string(), source })
}

/// Where output goes: the log, nowhere, or a file.
fn place(path: Option<&str>) -> OutputPlace {
    match path {
        None => OutputPlace::Log,
        Some(NULL_DEVICE) => OutputPlace::Nowhere,
        Some(path) => OutputPlace::File(path.to_owned()),
    }
}

/// Whether all items would write the same file, each over the others.
fn is_one_file(context: &LaunchContext, place: &OutputPlace) -> bool {
    let OutputPlace::File(path) = place else { return false };
    let has_item = |text: &str| context.placeholder.as_deref().is_some_and(|placeholder| text.contains(placeholder));
    let is_same_folder = match &context.working_directory {
        _ if Path::new(path).is_absolute() => true,
        Some(folder) => !has_item(folder),
        // Each has a folder of its own.
        None => false,
    };
    is_same_folder && !has_item(path) && !Path::new(path).starts_with(DEVICES)
}

/// A path as text: bodies are UTF-8.
fn utf8(option: &str, path: &Path) -> Result<String, AppCommandError> {
    let refused = || AppCommandError::Argument(format!("{option}: the path {path:?} is not UTF-8"));
    path.to_str().map(str::to_owned).ok_or_else(refused)
}

fn parse_time_limit_ms(text: &str) -> Result<u64, String> {
    let span_ms = parse_period_s(text).and_then(|span_s| span_s.checked_mul(1_000));
    span_ms.ok_or_else(|| "expected a time such as 90s, 10m, 2h or 1d".to_owned())
}

/// The option that has made the member a fault points to; `None` if none has.
pub(super) fn option_at(fault: &Fault, submission: &RunSubmission) -> Option<String> {
    let FaultPlace::Body(steps) = &fault.place else { return None };
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let items = match submission.context.values_from {
        Some(_) => "--each-line",
        None => "--array",
    };
    let option = match steps.as_slice() {
        ["application-name"] => "--name",
        ["queue"] => "--queue",
        ["specs", _, "local-resources", name, ..] if submission.context.values_from.as_deref() == Some(*name) => items,
        ["specs", _, member @ ..] => return of_context(member),
        ["ask", _, "capability", "memory"] => "--memory",
        ["ask", _, "capability", "vCores"] => "--cores",
        ["ask", _, "capability"] => "--memory and --cores",
        ["ask", _, "num-containers"] | ["ask", _, "launch", "items"] => items,
        ["ask", _, "launch", "max-attempts"] => "--max-attempts",
        ["ask", _, "launch", "max-running"] => "--max-running",
        ["ask", _, "launch", "max-fails"] => "--max-fails",
        _ => return None,
    };
    Some(option.to_owned())
}

/// The option of a member of the launch context.
fn of_context(member: &[&str]) -> Option<String> {
    Some(match member {
        ["command", number] => match number.parse::<usize>() {
            Ok(0) => "the program of COMMAND".to_owned(),
            _ => format!("argument {number} of COMMAND"),
        },
        ["command"] | ["placeholder"] => "COMMAND".to_owned(),
        ["environment"] => "--env".to_owned(),
        ["environment", name, ..] => format!("--env {name}"),
        ["values-from"] => "--each-line".to_owned(),
        ["local-resources"] => "--file".to_owned(),
        ["local-resources", name, ..] => format!("--file {name}"),
        ["working-directory"] => "--cwd".to_owned(),
        ["stdout"] => "--stdout".to_owned(),
        ["stderr"] => "--stderr".to_owned(),
        ["time-limit-ms"] => "--time-limit".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::model::{ApplicationId, Capability, LaunchContext};

    use super::*;

    #[derive(Debug, Parser)]
    struct Words {
        #[command(flatten)]
        run: RunArguments,
    }

    fn submission(words: &[&str], directory: &Path) -> Result<RunSubmission, String> {
        let words = Words::try_parse_from(["run"].iter().chain(words)).map_err(|error| error.to_string())?;
        words.run.submission(directory).map_err(|error| error.to_string())
    }

    fn body(words: &[&str], directory: &Path) -> String {
        let body = submission(words, directory).unwrap().body(ApplicationId::new(1_700_000_000_000, 1)).unwrap();
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        format!("{body:#}").replace(&directory.display().to_string(), "HERE")
    }

    #[test]
    fn a_command_is_submitted_with_what_the_options_say() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("data.csv"), "1\n").unwrap();
        let words = "--memory 2048 --cores 2 --env A=b=c --file in=data.csv --cwd sub --time-limit 2m --queue q \
                     --stdout out --stderr /dev/null -- /bin/find . -exec echo {} ;";
        insta::assert_snapshot!(body(&words.split_whitespace().collect::<Vec<_>>(), folder.path()));
    }

    #[test]
    fn items_are_those_of_the_array_or_the_lines_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("names"), "anna\nbob").unwrap();
        let array = "--array 1-10:3 --max-attempts 3 --max-running 2 --max-fails 1 --stdout out.{} -- ./sim {}";
        insta::assert_snapshot!(body(&array.split_whitespace().collect::<Vec<_>>(), folder.path()));
        let lines = submission(&["--each-line", "names", "--", "greet", "{}"], folder.path()).unwrap();
        let work = lines.work.unwrap();
        assert_eq!((work.items.as_str(), work.count), ("1-2", 2));
        assert_eq!(lines.context.values_from.as_deref(), Some("names"));
        let LocalResource::Brought(file) = &lines.context.local_resources["names"] else { panic!("no file") };
        assert_eq!((file.size, file.executable), (8, false));
        assert_eq!(file.resource, format!("file://{}/names", folder.path().display()));
        let some = submission(&["--each-line", "names", "--array", "2", "--", "greet", "{}"], folder.path()).unwrap();
        assert_eq!((some.work.unwrap().count, some.context), (1, lines.context.clone()));
        let elsewhere = submission(&["--scratch", "--each-line", "names", "--", "greet", "{}"], folder.path()).unwrap();
        assert_eq!(elsewhere.context.working_directory, None);
        let name = format!(".jobtracker-lines-{}", &file.sha256[..12]);
        assert_eq!(elsewhere.context.values_from, Some(name));
    }

    #[test]
    fn all_of_the_environment_goes_along_but_what_is_this_shells_or_a_key() {
        let folder = tempfile::tempdir().unwrap();
        let environment = |words: &[&str]| submission(words, folder.path()).unwrap().context.environment;
        assert_eq!(environment(&["--", "true"]), BTreeMap::new());
        let all = environment(&["--env-all", "--env", "LANG=C", "--env", "A=1", "--", "true"]);
        assert_eq!(all.get("PATH"), std::env::var("PATH").ok().as_ref());
        assert_eq!((all["LANG"].as_str(), all["A"].as_str()), ("C", "1"));
        assert!(NOT_PASSED.iter().all(|name| !all.contains_key(*name)), "{all:?}");
        assert!(all.keys().all(|name| !name.starts_with("JOBTRACKER_")), "{all:?}");
    }

    #[test]
    fn items_that_write_apart_may_name_their_files_as_they_like() {
        let folder = tempfile::tempdir().unwrap();
        for words in [
            "--array 1 --stdout same.txt -- true",
            "--array 1-3 --stdout {}/same.txt -- true",
            "--array 1-3 --cwd run.{} --stdout same.txt --stderr same.txt -- true",
            "--array 1-3 --scratch --stdout same.txt -- true",
            "--array 1-3 --stdout /dev/null --stderr /dev/tty -- true",
            "--stdout same.txt -- true",
        ] {
            let submitted = submission(&words.split_whitespace().collect::<Vec<_>>(), folder.path());
            assert!(submitted.is_ok(), "{words}: {submitted:?}");
        }
    }

    /// What `jobtracker run` makes of the commands that users gave it when something was wrong (`tests/fixtures/faults`): the number of items,
    /// or the culprit. What becomes of those that are taken, `tests/worker` sees.
    #[test]
    fn commands_of_the_faults_are_taken_or_refused_by_their_culprit() {
        let verdicts: [(&str, &[Result<u64, &str>]); 5] = [
            ("array-whose-items-fail", &[Ok(3), Ok(3)]),
            ("array-writes-one-file", &[Err("--stdout names one file for 3 items: put {} into it")]),
            ("full-disk-of-the-worker", &[Ok(1), Ok(1)]),
            ("worker-at-its-process-limit", &[Ok(300)]),
            ("worker-short-of-file-descriptors", &[Ok(600)]),
        ];
        let folder = tempfile::tempdir().unwrap();
        for (script, verdicts) in verdicts {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/faults/{script}.sh"));
            let text = std::fs::read_to_string(path).unwrap();
            let lines = text.lines().filter_map(|line| line.strip_prefix("jobtracker run "));
            let given: Vec<Result<u64, String>> = lines
                .map(|line| {
                    let words =
                        std::process::Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output();
                    let words = String::from_utf8(words.unwrap().stdout).unwrap();
                    let submitted = submission(&words.lines().collect::<Vec<_>>(), folder.path())?;
                    Ok(submitted.work.map_or(1, |work| work.count))
                })
                .collect();
            let expected: Vec<_> = verdicts.iter().map(|verdict| verdict.map_err(str::to_owned)).collect();
            assert_eq!(given, expected, "{script}");
        }
    }

    #[test]
    fn mistakes_name_their_option() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("empty"), "").unwrap();
        std::fs::write(folder.path().join("a"), "").unwrap();
        std::fs::write(folder.path().join("lines"), "x\ny\n").unwrap();
        for (words, expected) in [
            ("--array 5-1 -- true", "--array \"5-1\": \"5-1\" goes backwards: expected 1-5"),
            ("--array -3-5 -- true", "--array \"-3-5\": \"-3-5\" begins with -: items begin at 0"),
            ("--array 1-2 --max-attempts 0 -- true", "expected a whole number from 1 to 100"),
            ("--each-line empty -- true", "--each-line"),
            ("--each-line absent -- true", "--each-line: cannot read"),
            ("--file absent -- true", "--file: cannot read"),
            ("--file a --file a=empty -- true", "two files are called \"a\""),
            ("--env JOBTRACKER_NO_SUCH_VARIABLE -- true", "--env JOBTRACKER_NO_SUCH_VARIABLE"),
            ("--json -- true", "--json needs"),
            ("--array 1-3 --stdout same.txt -- echo {}", "--stdout names one file for 3 items: put {} into it"),
            ("--array 1,2 --scratch --stderr /tmp/e -- true", "--stderr names one file for 2 items: put {} into it"),
            ("--each-line lines --stdout out -- true", "--stdout names one file for 2 items"),
            ("--time-limit 5 -- true", "--time-limit"),
            ("--max-running 5 -- true", "--array"),
            ("true", "unexpected argument"),
            ("--nmae x -- true", "unexpected argument '--nmae'"),
        ] {
            let error = submission(&words.split_whitespace().collect::<Vec<_>>(), folder.path()).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
        }
    }

    #[test]
    fn members_lead_to_options() {
        let context = LaunchContext::of_command(vec!["true".to_owned()]);
        let (name, capability) = ("true".to_owned(), Capability::new(1024, 1));
        let mut submission = RunSubmission { name, queue: None, capability, context, work: None };
        let option = |pointer: &str, submission: &RunSubmission| {
            let steps = pointer.split('/').map(str::to_owned).collect();
            option_at(&Fault { place: FaultPlace::Body(steps), detail: String::new() }, submission)
        };
        for (pointer, expected) in [
            ("ask/0/capability/memory", Some("--memory")),
            ("ask/0/launch/items", Some("--array")),
            ("specs/run/environment/A", Some("--env A")),
            ("specs/run/command/0", Some("the program of COMMAND")),
            ("specs/run/command/2", Some("argument 2 of COMMAND")),
            ("specs/run/local-resources/data/size", Some("--file data")),
            ("specs/run/working-directory", Some("--cwd")),
            ("unattended", None),
        ] {
            assert_eq!(option(pointer, &submission).as_deref(), expected, "{pointer}");
        }
        submission.context.values_from = Some("names".to_owned());
        assert_eq!(option("ask/0/launch/items", &submission).as_deref(), Some("--each-line"));
        let lines = option("specs/run/local-resources/names/size", &submission);
        assert_eq!(lines.as_deref(), Some("--each-line"));
    }
}
