//! Who asks: the user or the application that signed the request, or where no keys are, the user whose socket it is.

use axum::http::request::Parts;

use crate::model::ApplicationId;

use super::address::Address;
use super::loopback_caller::loopback_caller;
use super::owner::{ApplicationAccess, ApplicationOwner};
use super::problem::Problem;
use super::query_parameters::QueryParameters;
use super::signed_caller::{application_caller, signed_caller, signing_application};
use super::verified::Verified;

/// Finds who asks, and takes what belongs to the signature out of the parameters. An application may ask only about
/// `application`, the one that the path names.
pub(super) async fn find_caller<O: ApplicationOwner>(
    owner: &O,
    access: ApplicationAccess,
    head: &Parts,
    parameters: &mut QueryParameters,
    address: Address,
    application: Option<ApplicationId>,
) -> Result<Verified, Problem> {
    let is_off = matches!(access, ApplicationAccess::Off);
    if address == Address::Info && !is_off {
        return Ok(Verified::unknown(parameters));
    }
    if let Some(signer) = signing_application(head, parameters)
        && !is_off
    {
        return application_caller(owner, signer, head, parameters, application).await;
    }
    match access {
        ApplicationAccess::Off => Err(Problem::no_such_address(head.uri.path())),
        ApplicationAccess::Signed(acl) => signed_caller(acl, head, parameters).await,
        ApplicationAccess::Loopback => loopback_caller(owner, head, parameters).await,
    }
}
