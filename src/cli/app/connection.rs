//! Who asks which server.

use crate::cli::market_command::MarketArguments;
use crate::cli::place::Found;
use crate::client::applications::ApplicationClient;

use super::error::AppCommandError;

/// The client that the options name: it signs if a key is found.
pub(crate) fn client_of(market: &MarketArguments) -> Result<ApplicationClient, AppCommandError> {
    let user = market.signer.user()?;
    let signer = market.signer_if_any()?;
    let Found { address, origin } = market.place.find(&[])?.http();
    let client = ApplicationClient::new(address.to_string(), user, signer, crate::clock::wall_ms);
    Ok(client.found(origin.note()))
}
