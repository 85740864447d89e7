//! Who asks which server.

use crate::cli::market_command::MarketArguments;
use crate::cli::server_address::server_address;
use crate::client::applications::ApplicationClient;

use super::error::AppCommandError;

/// The client that the options name: it signs if a key is found.
pub(crate) fn client_of(market: &MarketArguments) -> Result<ApplicationClient, AppCommandError> {
    let user = market.signer.user()?;
    let signer = market.signer_if_any()?;
    let server = server_address(market.server.as_deref());
    Ok(ApplicationClient::new(server, user, signer, crate::clock::wall_ms))
}
