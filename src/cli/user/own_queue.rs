//! `jobtracker user add --budget …`: the new user's queue, its money and its bid, in one go.

use percent_encoding::percent_decode_str;

use crate::cli::exit_code::{Failure, HasExitCode};
use crate::cli::market_command::{MarketCommandError, wait_for};
use crate::cli::place::PlaceArguments;
use crate::cli::queue::allowance_query;
use crate::cli::serve::ConfigurationArguments;
use crate::cli::signer::SignerArguments;
use crate::cli::values::credits;
use crate::client::market::{MarketClient, MarketClientError, Signer};
use crate::client::signed_query::escaped;
use crate::market::Role;

use super::edit::Edit;

/// What the queue of a new user gets.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct OwnQueueArguments {
    /// Add the user's queue at the running JobTracker, with these credits
    #[arg(long, value_name = "CREDITS", value_parser = credits)]
    budget: Option<String>,
    /// Add the user's queue with this bid: credits for one slot over one interval
    #[arg(long, value_name = "RATE", value_parser = credits)]
    rate: Option<String>,
    /// Add the user's queue with an allowance: CREDITS every PERIOD, perhaps with cap CREDITS
    #[arg(long, value_name = "CREDITS every PERIOD", num_args = 3..=5)]
    allowance: Vec<String>,
    /// Administrator of the ACL file who adds the queue; default: your login name
    #[arg(id = "signed_as", long = "as", value_name = "NAME")]
    by: Option<String>,
    /// HTTP address of the JobTracker, host:port; default: as --conf has it, else $JOBTRACKER_SERVER, $JOBTRACKER_CONF,
    /// $HADOOP_CONF_DIR, ~/.config/jobtracker/config.toml, /etc/hadoop_server, 127.0.0.1:50030
    #[arg(long, value_name = "ADDRESS")]
    server: Option<String>,
}

/// Adds the queue of a new user as asked, in the name of an administrator of the file; nothing if nothing is asked for.
/// The money comes last, so that a command that failed before may be given again.
pub(super) fn add_queue(
    arguments: &OwnQueueArguments,
    name: &str,
    edit: &Edit,
    configuration: &ConfigurationArguments,
) -> Result<(), Failure> {
    let OwnQueueArguments { budget, rate, allowance, by, server } = arguments;
    if budget.is_none() && rate.is_none() && allowance.is_empty() {
        return Ok(());
    }
    let queue = escaped(name);
    let mut queries = vec![format!("addQueue={queue}")];
    queries.extend(rate.iter().map(|rate| format!("setSpending={}&queue={queue}", escaped(rate))));
    if let Some((credits, terms)) = allowance.split_first() {
        queries.push(allowance_query(name, credits, terms)?);
    }
    queries.extend(budget.iter().map(|budget| format!("addBudget={}&queue={queue}", escaped(budget))));
    let signer = signer(by.as_deref(), edit)?;
    let client = market_client(server.as_deref(), configuration)?;
    for query in &queries {
        let sent = wait_for(async { Ok(client.request_signed(query, &signer).await?) });
        match sent {
            // It may have been there before its user.
            Err(MarketCommandError::Client(MarketClientError::Refused(text)))
                if query.starts_with("addQueue=") && text.ends_with("exists already") => {}
            Err(source) => {
                let query = percent_decode_str(query).decode_utf8_lossy().into_owned();
                let text = format!("{name} is not added, since {} could not send {query}: {source}", signer.user);
                return Err(Failure { code: source.exit_code(), text });
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

/// The market of the JobTracker at that address, or of the configuration.
pub(super) fn market_client(
    server: Option<&str>,
    configuration: &ConfigurationArguments,
) -> Result<MarketClient, Failure> {
    let server = server.map(str::to_owned);
    let place = PlaceArguments { server, jobtracker: None, conf: configuration.conf.clone() };
    Ok(place.find(&configuration.define)?.http().market())
}

/// An administrator with the key in the file.
fn signer(by: Option<&str>, edit: &Edit) -> Result<Signer, Failure> {
    let user = match by {
        Some(by) => by.to_owned(),
        None => SignerArguments::default().user()?,
    };
    match edit.acl()?.get(&user).filter(|entry| entry.role == Role::Admin) {
        Some(entry) => Ok(Signer { user, key: entry.key.clone() }),
        None => Err(Failure::usage(format_args!(
            "{user} is no administrator in {}: give one of its administrators by --as",
            edit.path().display()
        ))),
    }
}
