//! The commands a new user needs next, with the addresses of the daemon that has just started.

use std::path::Path;

use crate::config::HostPort;
use crate::model::as_shell_word;

pub(super) struct StartedJobTracker<'a> {
    /// RPC address for other machines.
    pub(super) rpc: HostPort,
    /// Web address for other machines.
    pub(super) http: HostPort,
    pub(super) conf: Option<&'a Path>,
    /// Whether the market is on, so that jobs must be signed.
    pub(super) has_market: bool,
}

/// A first job: it needs only a text file.
const FIRST_JOB: &str = "--input FILE --output FOLDER --mapper cat --reducer 'uniq -c'";

pub(super) fn after_serve(started: &StartedJobTracker<'_>) -> Vec<String> {
    let StartedJobTracker { rpc, http, conf, has_market } = started;
    // A tasktracker reads more from it than the address, such as its directories.
    let conf =
        conf.map(|folder| format!("--conf {} ", as_shell_word(&folder.display().to_string()))).unwrap_or_default();
    let mut steps = vec![format!("next, a worker: jobtracker tasktracker {conf}-D mapred.job.tracker={rpc}")];
    if *has_market {
        steps.push(format!(
            "next, budgets: jobtracker queue list --server {http} --user ADMIN --key-file FILE (and add-budget QUEUE CREDITS)"
        ));
    }
    let signed = if *has_market { " --key-file FILE" } else { "" };
    steps.push(format!("next, a job: jobtracker job submit --jobtracker {rpc}{signed} {FIRST_JOB}"));
    steps.push(format!("next, look: http://{http}/"));
    steps
}

pub(super) fn after_tasktracker(jobtracker: &HostPort) -> Vec<String> {
    vec![
        format!("next, a job: jobtracker job submit --jobtracker {jobtracker} {FIRST_JOB}"),
        format!("next, look: jobtracker job list --all --jobtracker {jobtracker}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> HostPort {
        HostPort::parse(text).unwrap()
    }

    #[test]
    fn commands_carry_the_real_addresses() {
        let standalone = StartedJobTracker {
            rpc: address("127.0.0.1:8021"),
            http: address("127.0.0.1:50030"),
            conf: None,
            has_market: false,
        };
        insta::assert_snapshot!(after_serve(&standalone).join("\n"), @"
        next, a worker: jobtracker tasktracker -D mapred.job.tracker=127.0.0.1:8021
        next, a job: jobtracker job submit --jobtracker 127.0.0.1:8021 --input FILE --output FOLDER --mapper cat --reducer 'uniq -c'
        next, look: http://127.0.0.1:50030/
        ");
        let market = StartedJobTracker {
            rpc: address("master:9001"),
            http: address("master:50030"),
            conf: Some(Path::new("/etc/my hadoop")),
            has_market: true,
        };
        insta::assert_snapshot!(after_serve(&market).join("\n"), @"
        next, a worker: jobtracker tasktracker --conf '/etc/my hadoop' -D mapred.job.tracker=master:9001
        next, budgets: jobtracker queue list --server master:50030 --user ADMIN --key-file FILE (and add-budget QUEUE CREDITS)
        next, a job: jobtracker job submit --jobtracker master:9001 --key-file FILE --input FILE --output FOLDER --mapper cat --reducer 'uniq -c'
        next, look: http://master:50030/
        ");
        insta::assert_snapshot!(after_tasktracker(&address("[::1]:8021")).join("\n"), @"
        next, a job: jobtracker job submit --jobtracker [::1]:8021 --input FILE --output FOLDER --mapper cat --reducer 'uniq -c'
        next, look: jobtracker job list --all --jobtracker [::1]:8021
        ");
    }
}
