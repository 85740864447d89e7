//! `jobtracker serve`: runs the daemon in the foreground.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::config::keys::hadoop_defaults::is_hadoop_default;
use crate::config::settings::{AdmittedTrackers, BudgetStoreKind, JobChangeSettings, MarketSettings, SchedulerKind};
use crate::config::{Configuration, LoadOptions, Settings, not_acted_on};
use crate::lifecycle::{Precedence, Predecessor, ServeError, ServeOptions, Serving, as_others_name, check_files};

use super::exit_code::Failure;
use super::next_steps::{StartedJobTracker, after_serve};
use super::staging_line::staging_line;

/// Sources of the configuration.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ConfigurationArguments {
    /// Conf folder with core-site.xml, mapred-site.xml, ...; default: $JOBTRACKER_CONF, else $HADOOP_CONF_DIR; with none, standalone on loopback
    #[arg(long, value_name = "DIR")]
    pub(crate) conf: Option<PathBuf>,
    /// Set a configuration key, overriding the conf folder; can be repeated
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    pub(crate) define: Vec<String>,
}

/// Options of `serve`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServeCommand {
    /// The configuration.
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArguments,
    /// Replace budgets, rates and queues by those in the budget file, and record the differences in the ledger
    #[arg(long)]
    pub(crate) take_budget_file: bool,
    /// Take over from the running daemon that has started this process and talks to it on standard input
    #[arg(long, hide = true)]
    pub(crate) take_over: bool,
}

/// The option of [`ServeCommand::take_over`].
const TAKE_OVER: &str = "--take-over";

impl ConfigurationArguments {
    /// As options for loading the configuration.
    pub(crate) fn load_options(&self) -> LoadOptions {
        LoadOptions::of_process(self.conf.clone(), self.define.clone())
    }
}

/// Fails with 2 for wrong usage or configuration, and for whatever else keeps it from starting until a person acts, so that a
/// supervisor does not try again; with 1 for any other failure.
pub(crate) fn run(command: ServeCommand) -> Result<(), Failure> {
    let predecessor = command.take_over.then(Predecessor::of_stdin).transpose().map_err(|error| {
        Failure::other(format_args!("--take-over is only for a process started by a running daemon: {error}"))
    })?;
    let loaded = Settings::load(&command.configuration.load_options());
    if let (Some(predecessor), Err(error)) = (&predecessor, &loaded) {
        predecessor.refuse(&error.to_string());
    }
    let (settings, warnings) = loaded?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    for warning in check_files(&settings).warnings {
        tracing::warn!("{warning}");
    }
    for line in keys_not_acted_on(&settings.configuration) {
        tracing::warn!("{line}");
    }
    let precedence = if command.take_budget_file { Precedence::File } else { Precedence::Ledger };
    if command.take_budget_file && !matches!(settings.scheduler, SchedulerKind::Dynamic(_)) {
        tracing::warn!("--take-budget-file has no effect: the configured scheduler has no budgets");
    }
    let options = ServeOptions { precedence, arguments: own_arguments(), predecessor, stop: None };
    let mut has_served = false;
    let served = crate::lifecycle::serve(&settings, options, |serving| {
        has_served = true;
        for line in start_lines(&serving.settings, serving) {
            tracing::info!("{line}");
        }
    });
    let is_usage = |error: &ServeError| !has_served && error.is_permanent();
    served.map_err(|error| if is_usage(&error) { Failure::usage(error) } else { Failure::other(error) })
}

/// A line for each key that is set and that nothing here acts on; keys at Hadoop's own default change nothing anywhere.
fn keys_not_acted_on(configuration: &Configuration) -> Vec<String> {
    let is_default =
        |key: &str| configuration.written().any(|(name, value, _)| name == key && is_hadoop_default(name, value));
    let not_acted_on = not_acted_on::of_jobtracker(configuration).into_iter().filter(|found| !is_default(&found.key));
    not_acted_on.map(|found| format!("not acted on: {found}")).collect()
}

fn own_arguments() -> Vec<OsString> {
    std::env::args_os().skip(1).filter(|argument| argument != TAKE_OVER).collect()
}

/// Which TaskTrackers are admitted, and the risk if tasks cost money.
fn trackers_line(settings: &Settings) -> String {
    let has_market = matches!(settings.scheduler, SchedulerKind::Dynamic(_));
    match (settings.trackers.admitted, &settings.trackers.hosts_file) {
        (AdmittedTrackers::Listed, Some(file)) => {
            format!("TaskTrackers are admitted from the hosts in {}, under their own addresses", file.display())
        }
        (_, _) if has_market => {
            "TaskTrackers are admitted from every host (jobtracker.trackers.admit = all): a malicious one can take tasks, and \
             queues pay for its slots; set `listed` to prevent this"
                .to_owned()
        }
        (_, _) => "TaskTrackers are admitted from every host (jobtracker.trackers.admit = all)".to_owned(),
    }
}

fn budgets_place(market: &MarketSettings) -> String {
    match &market.budget_store {
        BudgetStoreKind::File(path) => path.display().to_string(),
        BudgetStoreKind::Command(words) => format!("a store behind {}", words.join(" ")),
        BudgetStoreKind::Postgres(postgres) => postgres.url.clone(),
    }
}

pub(super) fn reach(address: std::net::SocketAddr) -> &'static str {
    if address.ip().to_canonical().is_loopback() {
        "programs of this machine"
    } else {
        "every host that reaches this machine"
    }
}

fn changers(settings: &Settings) -> String {
    let JobChangeSettings { are_signed, hosts } = &settings.job_changes;
    let lists = match settings.queues.acls_enabled {
        true => "users in access lists",
        false => "any user (mapred.acls.enabled is off)",
    };
    match (are_signed, hosts.is_empty()) {
        (false, _) => format!("{lists}, whose names are believed (jobtracker.job-changes)"),
        (true, true) => format!("{lists} who sign"),
        (true, false) => format!("{lists} who sign, or call from {}", hosts.join(", ")),
    }
}

/// Addresses, their reach, directories, and the next commands.
fn start_lines(settings: &Settings, serving: &Serving) -> Vec<String> {
    let conf = match &settings.conf_dir {
        Some(folder) => format!("configuration of {}", folder.display()),
        None => "standalone, without a configuration folder".to_owned(),
    };
    let others = changers(settings);
    let jobs = match (&settings.scheduler, &settings.market) {
        (SchedulerKind::Dynamic(_), Some(market)) => format!(
            "jobs may be submitted, signed, by the users in {}, and changed by {others}; budgets in {}",
            market.acl_file.display(),
            budgets_place(market)
        ),
        (_, Some(market)) if settings.job_changes.are_signed => format!(
            "jobs may be submitted, signed, by the users in {}, and changed by {others}; the market does not rule",
            market.acl_file.display()
        ),
        (_, None) => format!("jobs may be submitted and changed by {others}"),
        (_, Some(market)) => format!(
            "jobs may be submitted and changed by {others}; the market does not rule, it keeps the accounts of the users \
             in {}",
            market.acl_file.display()
        ),
    };
    let started = StartedJobTracker {
        rpc: as_others_name(&settings.rpc_address, serving.rpc),
        http: as_others_name(&settings.http_address, serving.http),
        conf: settings.conf_dir.as_deref(),
        has_market: matches!(settings.scheduler, SchedulerKind::Dynamic(_)),
    };
    let socket = settings.web_socket.as_ref().map(|path| format!("; and at the Unix socket {}", path.display()));
    let socket = socket.unwrap_or_default();
    let mut lines = vec![
        format!("jobtracker {}: {conf}", env!("CARGO_PKG_VERSION")),
        format!("RPC on {}, open to {}; user names are not verified", serving.rpc, reach(serving.rpc)),
        trackers_line(settings),
        format!("web on http://{}/, open to {}{socket}", serving.http, reach(serving.http)),
        format!("scheduler {}; {jobs}", settings.scheduler.class_name()),
        format!("state in {}", serving.state_dir.display()),
        format!(
            "system directory {}, staging below {}",
            settings.directories.system, settings.directories.staging_root
        ),
        staging_line(settings),
    ];
    lines.extend(after_serve(&started));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::test_options;

    #[test]
    fn no_key_that_is_set_and_not_acted_on_passes_in_silence() {
        let set = ["mapred.permissions.supergroup=hadoop", "mapred.job.tracker.handler.count=10"];
        let lines = keys_not_acted_on(&test_options(None, &set).configuration().unwrap());
        insta::assert_snapshot!(lines.join("\n"), @"not acted on: -D: mapred.permissions.supergroup: administrators are the daemon's user and mapreduce.cluster.administrators");
    }
}
