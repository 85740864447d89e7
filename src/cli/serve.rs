//! `jobtracker serve`: the daemon, in the foreground.

use std::path::PathBuf;

use crate::config::{HostPort, LoadOptions, Settings};
use crate::server::{ServeError, Serving};

/// Which configuration holds, for `serve` and `check-config`.
#[derive(Clone, Debug, clap::Args)]
pub struct ServeArguments {
    /// Folder with core-site.xml, mapred-site.xml, ...; default: $HADOOP_CONF_DIR; with neither, standalone on loopback
    #[arg(long, value_name = "DIR")]
    pub conf: Option<PathBuf>,
    /// Sets a configuration key, over everything the folder says; may be given often
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    pub define: Vec<String>,
}

/// Why `serve` ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum ServeFailure {
    /// The configuration.
    #[error("{0}")]
    Config(#[from] crate::config::ConfigError),
    /// The start, or the end.
    #[error("{0}")]
    Serve(#[from] ServeError),
}

// === impl ServeArguments ===

impl ServeArguments {
    /// What to load.
    pub fn load_options(&self) -> LoadOptions {
        LoadOptions::of_process(self.conf.clone(), self.define.clone())
    }
}

// === impl ServeFailure ===

impl ServeFailure {
    /// The exit code: 2 for what the caller must write otherwise, 1 for the rest.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) => 2,
            Self::Serve(_) => 1,
        }
    }
}

/// Loads the configuration and serves.
///
/// # Errors
/// [`ServeFailure`]
pub fn run(arguments: ServeArguments) -> Result<(), ServeFailure> {
    let (settings, warnings) = Settings::load(&arguments.load_options())?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    crate::server::serve(&settings, |serving| {
        for line in start_lines(&settings, serving) {
            tracing::info!("{line}");
        }
    })?;
    Ok(())
}

/// What runs where, and who may reach it.
fn start_lines(settings: &Settings, serving: &Serving) -> Vec<String> {
    let reach = |address: std::net::SocketAddr| {
        let address = HostPort { host: address.ip().to_string(), port: address.port() };
        if address.is_loopback() { "programs of this machine" } else { "everybody who reaches this machine" }
    };
    let conf = match &settings.conf_dir {
        Some(folder) => format!("configuration of {}", folder.display()),
        None => "standalone, without a configuration folder".to_owned(),
    };
    let queues =
        if settings.queues.acls_enabled { "as access lists say" } else { "anybody (mapred.acls.enabled is off)" };
    vec![
        format!("jobtracker {}: {conf}", env!("CARGO_PKG_VERSION")),
        format!("RPC on {}, open to {}; user names are believed as sent", serving.rpc, reach(serving.rpc)),
        format!("web on http://{}/, open to {}", serving.http, reach(serving.http)),
        format!("scheduler {}; jobs may be submitted and killed by {queues}", settings.scheduler.class_name()),
        format!("state in {}", serving.state_dir.display()),
        format!(
            "system directory {}, staging below {}",
            settings.directories.system, settings.directories.staging_root
        ),
    ]
}
