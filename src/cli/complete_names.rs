//! `jobtracker complete-names`: what a completion script asks for the names that only the server knows.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Command};
use tokio::time::timeout;

use crate::client::applications::ApplicationQuery;
use crate::client::job::JobTrackerClient;

use super::app::client_of;
use super::market_command::MarketArguments;
use super::place::PlaceArguments;
use super::signer::SignerArguments;

/// Time for an answer: someone waits at a prompt.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Most names.
const MOST_NAMES: usize = 1_000;

/// Options of `complete-names`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CompleteNamesArguments {
    /// The words before the one that is completed, without `jobtracker`
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameKind {
    Job,
    Application,
    Queue,
    Worker,
    Scheduler,
}

/// The names that may come next, a line each; nothing where only the user knows, or no server answers in time.
pub(crate) fn run(arguments: &CompleteNamesArguments, command: &Command) -> String {
    let Some(named) = next_word(command, &arguments.words) else { return String::new() };
    let asked = async { timeout(ANSWER_TIMEOUT, names(named, &arguments.words)).await.ok().flatten() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let names = runtime.ok().and_then(|runtime| runtime.block_on(asked)).unwrap_or_default();
    names.into_iter().filter(|name| is_plain_word(name)).take(MOST_NAMES).map(|name| name + "\n").collect()
}

/// Whether a shell takes it as it is. Names are chosen by others, and what is completed is run.
fn is_plain_word(name: &str) -> bool {
    !name.starts_with('-') && name.chars().all(|c| c.is_ascii_alphanumeric() || "._:/@+-".contains(c))
}

/// What the word after these names.
fn next_word(command: &Command, words: &[String]) -> Option<NameKind> {
    let (mut command, mut path, mut position) = (command, String::new(), 0);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some(option) = word.strip_prefix('-') {
            let option = option.strip_prefix('-').unwrap_or(option);
            let is_it = |arg: &&Arg| {
                arg.get_long_and_visible_aliases().is_some_and(|longs| longs.contains(&option))
                    || arg.get_short().is_some_and(|short| option.strip_prefix(short).is_some_and(str::is_empty))
            };
            let arg = command.get_arguments().find(is_it).filter(|arg| arg.get_action().takes_values());
            if arg.is_some() && words.next().is_none() {
                return arg.and_then(|arg| named_by(arg, &path));
            }
        } else if let Some(below) = command.find_subcommand(word) {
            path = format!("{path} {}", below.get_name());
            (command, position) = (below, 0);
        } else {
            position += 1;
        }
    }
    let positionals: Vec<&Arg> = command.get_positionals().collect();
    let arg = positionals.get(position).or_else(|| {
        let takes_many = |arg: &&&Arg| arg.get_num_args().is_some_and(|number| number.max_values() > 1);
        positionals.last().filter(takes_many)
    })?;
    named_by(arg, &path)
}

fn named_by(arg: &Arg, path: &str) -> Option<NameKind> {
    match (arg.get_value_names()?.first()?.as_str(), path) {
        ("JOB", _) => Some(NameKind::Job),
        ("APPLICATION", _) => Some(NameKind::Application),
        ("QUEUE" | "FROM" | "TO", _) => Some(NameKind::Queue),
        ("WORKER", _) | ("NAME", " workers drain" | " workers resume") => Some(NameKind::Worker),
        ("NAME", " scheduler plan" | " scheduler use") => Some(NameKind::Scheduler),
        _ => None,
    }
}

async fn names(named: NameKind, words: &[String]) -> Option<Vec<String>> {
    if named == NameKind::Scheduler {
        return Some(["fifo", "capacity", "fair", "constraint", "dynamic"].map(str::to_owned).to_vec());
    }
    let value = |option: &str| {
        let at = words.iter().position(|word| word == option)?;
        words.get(at + 1).cloned()
    };
    let place = PlaceArguments {
        server: value("--server"),
        jobtracker: value("--jobtracker"),
        conf: value("--conf").map(PathBuf::from),
    };
    if named == NameKind::Application {
        let client = client_of(&MarketArguments { place, ..MarketArguments::default() }).ok()?;
        let query = ApplicationQuery { states: Vec::new(), owner: None, queue: None, limit: MOST_NAMES };
        return Some(client.list(&query).await.ok()?.into_iter().map(|found| found.id.to_string()).collect());
    }
    let place = place.find(&[]).ok()?;
    if named == NameKind::Worker {
        let workers = place.http().market().workers().await.ok()?.workers;
        return Some(workers.into_iter().map(|worker| worker.worker).collect());
    }
    let user = SignerArguments::default().user().ok()?;
    let mut jobtracker = JobTrackerClient::new(place.rpc().await.ok()?.address, user);
    Some(match named {
        NameKind::Job => jobtracker.job_ids().await.ok()?.into_iter().map(|job| job.to_string()).collect(),
        _ => jobtracker.queues().await.ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_shell_would_act_on_are_left_out() {
        let named = ["tracker_h:localhost/127.0.0.1:5", "job_1_0001", "$(id)", "`id`", "a b", "a;b", "*", "-x", "a\nb"];
        let plain: Vec<_> = named.into_iter().filter(|name| is_plain_word(name)).collect();
        assert_eq!(plain, ["tracker_h:localhost/127.0.0.1:5", "job_1_0001"]);
    }

    #[test]
    fn the_words_before_say_what_comes_next() {
        let command = crate::cli::command();
        let next = |words: &str| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            next_word(&command, &words)
        };
        for (words, named) in [
            ("job status", Some(NameKind::Job)),
            ("job hold job_1_0001", Some(NameKind::Job)),
            ("job status --server h:1", Some(NameKind::Job)),
            ("job status job_1_0001", None),
            ("explain", Some(NameKind::Job)),
            ("app status", Some(NameKind::Application)),
            ("app kill application_1_0001", Some(NameKind::Application)),
            ("app logs --server h:1", Some(NameKind::Application)),
            ("app status application_1_0001", None),
            ("queue pause", Some(NameKind::Queue)),
            ("job submit --queue", Some(NameKind::Queue)),
            ("job submit --input", None),
            ("queue transfer alice", Some(NameKind::Queue)),
            ("queue transfer alice bob", None),
            ("workers drain", Some(NameKind::Worker)),
            ("scheduler use", Some(NameKind::Scheduler)),
            ("", None),
            ("job", None),
        ] {
            assert_eq!(next(words), named, "{words}");
        }
    }
}
