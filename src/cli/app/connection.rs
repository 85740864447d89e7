//! Who asks which server.

use crate::cli::market_command::MarketArguments;
use crate::cli::server_address::server_address;
use crate::client::applications::ApplicationClient;

use super::error::AppCommandError;

/// The client that the options name: it signs if a key is found. A key file given as an option must exist.
pub(crate) fn client_of(market: &MarketArguments) -> Result<ApplicationClient, AppCommandError> {
    let user = market.signer.user()?;
    let signer = match market.signer() {
        Ok(signer) => Some(signer),
        Err(error) if market.signer.key_file.is_some() => return Err(error.into()),
        Err(_) => None,
    };
    let server = server_address(market.server.as_deref());
    Ok(ApplicationClient::new(server, user, signer, crate::clock::wall_ms))
}
