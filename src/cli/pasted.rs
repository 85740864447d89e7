//! Options of this command line that a command needs, too, which is printed for the user to paste.

use std::path::PathBuf;
use std::sync::OnceLock;

use clap::ArgMatches;

use crate::model::as_shell_word;

/// Keys of `-D` that name a JobTracker, and the options that do.
const PLACES: [(&str, &str); 2] =
    [("mapred.job.tracker", "--jobtracker"), ("mapred.job.tracker.http.address", "--server")];

static GIVEN: OnceLock<Given> = OnceLock::new();

/// What was given, as it would be written again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Given {
    conf: String,
    /// Where the JobTracker is.
    place: String,
    /// Who signs: a name and a file, never a key.
    signer: String,
}

/// Keeps the options of this process for [`pasted`].
pub(super) fn keep_options(matches: &ArgMatches) {
    // The first stay.
    let _ = GIVEN.set(Given::of(matches));
}

/// A command with the options that lead it to the same JobTracker as the same user.
pub(super) fn pasted(command: &str) -> String {
    GIVEN.get().cloned().unwrap_or_default().added_to(command, None)
}

/// The start of a worker, which needs no signer, and finds the JobTracker by `--conf`.
pub(super) fn pasted_place(command: &str) -> String {
    GIVEN.get().cloned().unwrap_or_default().worker(command)
}

/// The same, at this place unless options name one.
pub(super) fn pasted_at(command: &str, place: &str) -> String {
    GIVEN.get().cloned().unwrap_or_default().added_to(command, Some(place))
}

impl Given {
    fn of(matches: &ArgMatches) -> Self {
        let mut matches = matches;
        while let Some((_, below)) = matches.subcommand() {
            matches = below;
        }
        // Not every command has every option.
        let text = |id: &str| matches.try_get_one::<String>(id).ok().flatten().cloned();
        let path = |id: &str| matches.try_get_one::<PathBuf>(id).ok().flatten().map(|path| path.display().to_string());
        let words = |options: [(&str, Option<String>); 3]| -> String {
            let given = options.into_iter().filter_map(|(option, value)| Some((option, value?)));
            given.map(|(option, value)| format!(" {option} {}", as_shell_word(&value))).collect()
        };
        let mut place =
            words([("--server", text("server")), ("--jobtracker", text("jobtracker")), ("--conf", path("conf"))]);
        for define in matches.try_get_many::<String>("properties").ok().flatten().into_iter().flatten() {
            let Some((name, value)) = define.split_once('=') else { continue };
            if let Some((_, option)) =
                PLACES.iter().find(|(key, option)| *key == name.trim() && !place.contains(option))
            {
                place += &format!(" {option} {}", as_shell_word(value.trim()));
            }
        }
        let conf = words([("--conf", path("conf")), ("", None), ("", None)]);
        Self { conf, place, signer: words([("--as", text("signed_as")), ("--key-file", path("key_file")), ("", None)]) }
    }

    fn worker(&self, command: &str) -> String {
        format!("{command}{}", self.conf)
    }

    fn added_to(&self, command: &str, default_place: Option<&str>) -> String {
        let place = match default_place.filter(|_| self.place.is_empty()) {
            Some(place) => format!(" {place}"),
            None => self.place.clone(),
        };
        format!("{command}{place}{}", self.signer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &str) -> Given {
        let words = ["jobtracker"].into_iter().chain(line.split(' '));
        Given::of(&crate::cli::command().try_get_matches_from(words).unwrap_or_else(|error| panic!("{error}")))
    }

    #[test]
    fn a_pasted_command_has_place_and_signer_and_no_key() {
        let kill = "jobtracker job kill job_202611211200_0001";
        let of = |line: &str| given(line).added_to(kill, Some("--jobtracker h:1"));
        let follow = "job follow job_202611211200_0001";
        assert_eq!(of(follow), format!("{kill} --jobtracker h:1"));
        assert_eq!(
            of(&format!("{follow} --server web:50030 --as carol --key-file my'key")),
            format!("{kill} --server web:50030 --as carol --key-file 'my'\\''key'")
        );
        assert_eq!(of(&format!("{follow} --conf etc --user dan")), format!("{kill} --conf etc --as dan"));
        let submit = "job submit --input a --output b --mapper cat --reducer NONE -D mapred.job.tracker=m:9001";
        assert_eq!(of(submit), format!("{kill} --jobtracker m:9001"));
        assert_eq!(
            given("status --conf etc --as dan").worker("jobtracker tasktracker"),
            "jobtracker tasktracker --conf etc"
        );
        assert_eq!(given("status --server web:1").added_to(kill, None), format!("{kill} --server web:1"));
    }
}
