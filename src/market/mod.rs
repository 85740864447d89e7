//! Credits, accounts, allocation ticks, ledger, ACL, signatures, replay guard. Pure.
//!
//! [`Market`] is the state: [`Market::tick`] charges and allocates, [`Market::operate`] answers `/scheduler`,
//! [`Market::authorize_job`] judges submissions. Each hands out [`MarketFact`]s, and nothing changes but by a fact.
//! [`Acl`], [`signature::verify`] and [`Shape::parse`] serve the edge, before the market is asked.

pub mod account;
pub mod acl;
pub mod allocation;
pub mod answer;
pub mod budget_file;
pub mod config;
pub mod credits;
pub mod error;
pub mod extension;
pub mod fact;
pub mod history;
pub mod ledger;
pub mod operate;
pub mod query;
pub mod queue_name;
pub mod quote;
pub mod replay;
pub mod share;
pub mod signature;
pub mod standing;
pub mod state;
pub mod statement;
mod submission;
pub mod take_over;
#[cfg(test)]
mod tests;
pub mod tick;
pub mod turn;

pub use account::{Account, Interval, Published};
pub use acl::{Acl, AclEntry, AclError, Key, KeyId, Role};
pub use allocation::Carry;
pub use answer::{Answer, QueueInfo};
pub use budget_file::{BudgetFileError, BudgetLine};
pub use config::MarketConfig;
pub use credits::{Credits, CreditsError};
pub use error::{Denial, ErrorClass, JobDenied, MarketError};
pub use fact::MarketFact;
pub use history::{HistoryPage, PriceHistory, PricePoint, Spans, SpendingHistory, SpendingPoint};
pub use ledger::{LedgerAccount, LedgerEntry, LedgerTotals, Reason};
pub use operate::{Operated, QueueChange, ServletRequest};
pub use query::{Operation, OperationKind, QueryError, Shape};
pub use queue_name::{QueueName, QueueNameError};
pub use quote::{Bidding, Quote};
pub use replay::{Consumer, ReplayGuard, ReplayRefusal, Stamp};
pub use share::Share;
pub use signature::{JobSignature, SignatureError, VerifiedUser, job_signature};
pub use standing::{QueueStanding, Standings};
pub use state::Market;
pub use statement::{MovementReason, Statement, StatementPage, StatementRow};
pub use take_over::TakenOver;
pub use tick::{QueueUse, Tick};
pub use turn::{Charge, Turn};
