//! `jobtracker backup`: copies state.db consistently, whether the daemon runs or not.

use std::path::PathBuf;

use crate::model::counted;
use crate::store::{BackupSummary, backup, database_in};

use super::exit_code::Failure;
use super::market_text::json;
use super::serve::ConfigurationArguments;

/// Options of `backup`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BackupArguments {
    /// File to create; must not exist
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The daemon's configuration, which sets the state directory.
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArguments,
}

/// Fails with 2 for wrong usage or configuration, 1 for any other failure.
pub(crate) fn run(arguments: &BackupArguments) -> Result<String, Failure> {
    let database = database_in(&arguments.configuration.load_options().state_dir()?);
    let BackupSummary { last_fact, schema_version, jobs, unfinished_jobs, queues, bytes } =
        backup(&database, &arguments.file).map_err(Failure::other)?;
    if arguments.json {
        return Ok(json(&serde_json::json!({
            "database": database, "file": arguments.file, "bytes": bytes, "last_fact": last_fact.0,
            "schema_version": schema_version, "jobs": jobs, "unfinished_jobs": unfinished_jobs, "queues": queues,
        })));
    }
    Ok(format!(
        "{} copied to {}, {bytes} bytes, checked\nlast fact {}, schema version {schema_version}; {}, \
         {unfinished_jobs} of them unfinished; {} with money\n",
        database.display(),
        arguments.file.display(),
        last_fact.0,
        counted(jobs, "job"),
        counted(queues, "queue"),
    ))
}
