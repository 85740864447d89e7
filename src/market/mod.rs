//! Credits, accounts, allocation ticks, ledger, ACL, signatures, replay guard. Pure.

pub mod acl;
pub mod credits;
pub mod queue_name;
pub mod signature;

pub use acl::{Acl, AclEntry, AclError, Key, KeyId, Role};
pub use credits::{Credits, CreditsError};
pub use queue_name::{QueueName, QueueNameError};
pub use signature::{JobSignature, SignatureError, VerifiedUser, job_signature};
