//! Money: accounts, ticks, allocation, ledger, and the guard that accepts each signature once. Names nothing of `requests`.

mod account;
mod allocation;
mod apply_budget_file;
pub mod budget_file;
mod charging;
mod division;
mod fact;
mod income;
mod interval;
mod invariants;
mod laid_charge;
mod ledger;
mod meter;
mod metered;
mod open_bids;
mod pay_allowances;
mod queue_meter;
mod quote;
mod replay;
mod share;
mod state;
mod tick;

pub use account::Account;
pub(crate) use account::PublishedAccount;
pub use allocation::ContainerUse;
#[cfg(test)]
pub(crate) use allocation::RoundingRemainder;
#[cfg(test)]
pub(crate) use apply_budget_file::AppliedBudgetFile;
pub use budget_file::BudgetLine;
pub(crate) use budget_file::{BudgetFileError, MAX_QUEUES};
pub use fact::MarketFact;
pub(crate) use fact::{Order, OrderEnd, QueueChange};
pub(crate) use income::AllowanceTerms;
pub use income::{Allowance, TakenTopUp, TopUp, TopUpAnswer};
pub use interval::Charge;
pub(crate) use interval::Interval;
pub(crate) use laid_charge::LaidCharge;
pub(in crate::market) use ledger::Movement;
#[cfg(test)]
pub(in crate::market) use ledger::OF_FIRST_BUDGETS;
pub use ledger::{LedgerAccount, LedgerEntry, Reason};
pub(crate) use ledger::{LedgerTotals, MOST_NOTE_CHARACTERS};
pub(crate) use meter::Meter;
#[cfg(test)]
pub(crate) use metered::MeteredUse;
pub use metered::SlotHolder;
pub(crate) use metered::{GivenBack, Grace, GraceStep, HeldChange, Metered};
pub(crate) use open_bids::OpenBids;
pub(crate) use pay_allowances::MOST_MISSED_PERIODS;
pub use queue_meter::Holding;
pub(crate) use quote::{Bidding, Quote};
pub use replay::{Consumer, ForgottenStamps, KeyId, MarketConfig, SignedTextId, Stamp};
pub(crate) use replay::{EVERYONE, ReplayGuard, ReplayRefusal, Signature};
pub(crate) use share::Share;
pub(crate) use state::MAX_ORDERS_OF_QUEUE;
pub use state::Market;
pub(crate) use tick::QueueTick;
pub use tick::{QueueUse, Tick};
