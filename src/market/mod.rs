//! Credits, accounts, allocation ticks, ledger, ACL, signatures, replay guard. Pure.

pub mod acl;
pub mod allocation;
pub mod answer;
pub mod budget_file;
pub mod credits;
pub mod ledger;
pub mod query;
pub mod queue_name;
pub mod replay;
pub mod share;
pub mod signature;

pub use acl::{Acl, AclEntry, AclError, Key, KeyId, Role};
pub use allocation::Carry;
pub use answer::{Answer, QueueInfo};
pub use budget_file::{BudgetFileError, BudgetLine};
pub use credits::{Credits, CreditsError};
pub use ledger::{LedgerAccount, LedgerEntry, LedgerTotals, Reason};
pub use query::{Operation, OperationKind, QueryError, Shape};
pub use queue_name::{QueueName, QueueNameError};
pub use replay::{Consumer, ReplayGuard, ReplayLimits, ReplayRefusal, Stamp};
pub use share::Share;
pub use signature::{JobSignature, SignatureError, VerifiedUser, job_signature};
