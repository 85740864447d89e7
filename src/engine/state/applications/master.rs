//! The request for a master in a container: a type that no application can ask for.

use crate::model::Capability;
use crate::scheduler::RequestType;

/// The request id of masters, beyond all that applications may use.
const MASTER_ID: u64 = u64::MAX;

pub(crate) fn master_request(capability: Capability) -> RequestType {
    RequestType { priority: 0, request_id: MASTER_ID, capability }
}

pub(crate) fn is_master(request: RequestType) -> bool {
    request.request_id == MASTER_ID
}

/// The request id as applications know it.
pub(crate) fn shown_id(request: RequestType) -> u64 {
    if is_master(request) { 0 } else { request.request_id }
}
