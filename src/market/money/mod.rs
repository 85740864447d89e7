//! Money: accounts, ticks, allocation, ledger, and the guard that accepts each signature once. Names nothing of
//! `requests`.

mod account;
mod allocation;
mod allowance;
mod apply_budget_file;
pub mod budget_file;
mod charging;
mod container_use;
mod division;
mod fact;
mod interval;
mod invariants;
mod laid_charge;
mod ledger;
mod meter;
mod metered;
mod open_bids;
mod order;
mod orders;
mod pay_allowances;
mod queue_meter;
mod queue_status;
mod quote;
mod replay;
mod share;
mod slot_holder;
mod state;
mod suspension;
mod tick;
mod top_up;

pub use account::{Account, Published};
pub use allocation::{Part, RoundingRemainder, divide_slots};
pub use allowance::{Allowance, AllowanceTerms};
pub use apply_budget_file::AppliedBudgetFile;
pub use budget_file::{BudgetFileError, BudgetLine, MAX_QUEUES};
pub use container_use::ContainerUse;
pub use fact::{MarketFact, QueueChange};
pub use interval::{Charge, Interval};
pub use laid_charge::LaidCharge;
pub(in crate::market) use ledger::Movement;
#[cfg(test)]
pub(in crate::market) use ledger::OF_FIRST_BUDGETS;
pub use ledger::{LedgerAccount, LedgerEntry, LedgerTotals, MOST_NOTE_CHARACTERS, Reason};
pub use meter::Meter;
pub use metered::{GivenBack, Grace, GraceStep, HeldChange, Metered, MeteredUse};
pub use open_bids::OpenBids;
pub use order::{Order, OrderEnd};
pub use orders::MAX_ORDERS_OF_QUEUE;
pub use pay_allowances::{MOST_MISSED_PERIODS, PaidAllowances};
pub use queue_meter::Holding;
pub use quote::{Bidding, Quote};
pub use replay::{
    Consumer, EVERYONE, ForgottenStamps, KeyId, MarketConfig, ReplayGuard, ReplayRefusal, Signature, SignedTextId,
    Stamp,
};
pub use share::Share;
pub use slot_holder::SlotHolder;
pub use state::Market;
pub use tick::{QueueTick, QueueUse, Tick};
pub use top_up::{TakenTopUp, TopUp, TopUpAnswer};
