//! `jobtracker status`: the daemon at a glance, over HTTP.

use std::fmt::Write;

use crate::api::DaemonStatus;
use crate::client::daemon_status::{StatusError, daemon_status};
use crate::config::ConfigError;

use super::exit_code::WRONG_USAGE;
use super::market_text::json;
use super::serve::ConfigurationArguments;
use super::server_address::server_address;

/// Exit code of a daemon that serves and cannot run jobs.
const NOT_READY: u8 = 1;
/// Exit code without an answer.
const UNREACHABLE: u8 = 4;

/// Options of `status`.
#[derive(Clone, Debug, clap::Args)]
pub struct StatusArguments {
    /// The daemon's configuration, which sets its HTTP address.
    #[command(flatten)]
    configuration: ConfigurationArguments,
    /// HTTP address of the daemon, host:port; default: that of --conf, else the content of /etc/hadoop_server, else 127.0.0.1:50030
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["conf", "define"])]
    server: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Why the status is unknown.
#[derive(Debug, thiserror::Error)]
pub enum StatusFailure {
    /// The configuration.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The daemon.
    #[error("{0}; start one: jobtracker serve")]
    Daemon(#[from] StatusError),
    /// The async runtime cannot start.
    #[error("cannot send the request: {0}")]
    System(#[from] std::io::Error),
}

// === impl StatusFailure ===

impl StatusFailure {
    /// The exit code: 2 for wrong configuration, 4 if no daemon answers.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) => WRONG_USAGE,
            Self::Daemon(_) | Self::System(_) => UNREACHABLE,
        }
    }
}

/// Asks for the status; returns the text and the exit code: 0 where jobs can run, else 1.
///
/// # Errors
/// [`StatusFailure`]
pub fn run(arguments: &StatusArguments) -> Result<(String, u8), StatusFailure> {
    let server = arguments.server()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let status = runtime.block_on(daemon_status(&server))?;
    let code = if status.is_ready { 0 } else { NOT_READY };
    Ok((if arguments.json { json(&status) } else { text(&status) }, code))
}

// === impl StatusArguments ===

impl StatusArguments {
    fn server(&self) -> Result<String, ConfigError> {
        let options = self.configuration.load_options();
        let is_configured = options.conf_dir.is_some() || !options.overrides.is_empty();
        if self.server.is_some() || !is_configured {
            return Ok(server_address(self.server.as_deref()));
        }
        Ok(options.http_address_for_clients()?.to_string())
    }
}

fn text(status: &DaemonStatus) -> String {
    let DaemonStatus { workers, slots, running_tasks, waiting_tasks, .. } = status;
    let unknown = || "unknown".to_owned();
    let address = |address: &Option<String>| address.clone().unwrap_or_else(unknown);
    let up = jiff::SignedDuration::from_secs(status.uptime_ms / 1_000);
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{name:<10} {value}");
    };
    line("jobtracker", format!("{}, process {}, up {up:#}", status.version, status.pid));
    line("ports", format!("RPC {}, web {}", address(&status.rpc), address(&status.http)));
    line("scheduler", status.scheduler.clone());
    line("workers", format!("{} healthy, {} unhealthy, {} silent", workers.healthy, workers.unhealthy, workers.silent));
    line(
        "slots",
        format!(
            "map {} of {} in use, {} tasks wait; reduce {} of {} in use, {} tasks wait",
            running_tasks.map, slots.map, waiting_tasks.map, running_tasks.reduce, slots.reduce, waiting_tasks.reduce
        ),
    );
    line("jobs", format!("{} running, {} being set up", status.running_jobs, status.preparing_jobs));
    if let Some(old_s) = status.old_s {
        line("shown", format!("as it was {:#} ago", jiff::SignedDuration::from_secs(old_s)));
    }
    line("health", status.health.clone());
    text
}
