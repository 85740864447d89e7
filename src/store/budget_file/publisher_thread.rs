//! The thread that publishes budgets: retries the newest accounts until the back-end accepts them.

use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::market::BudgetLine;
use crate::model::FactNumber;

use super::back_end::BudgetBackEnd;
use super::{BudgetBackEndError, Shared};

/// The first pause before a failed publication is retried; doubles at each failure.
const RETRY_PAUSE_MIN: Duration = Duration::from_millis(200);
/// The longest such pause.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(30);

/// A request to the thread.
#[derive(Debug)]
pub(super) enum Order {
    /// Publish all accounts.
    Publish {
        accounts: Vec<BudgetLine>,
        /// The tick that they are the balances after.
        tick: u64,
    },
    /// Publish what waits, and end.
    Close {
        /// The last fact of all, where the stop is a clean one.
        shown: Option<FactNumber>,
    },
}

/// Publishes until [`Order::Close`].
///
/// # Errors
/// The last accounts could not be published.
pub(super) fn publish_all(
    back_end: &mut dyn BudgetBackEnd,
    orders: &Receiver<Order>,
    shared: &Shared,
) -> Result<(), BudgetBackEndError> {
    let mut waiting: Option<(Vec<BudgetLine>, u64)> = None;
    let mut pause = RETRY_PAUSE_MIN;
    let mut is_open = true;
    let mut at_close = None;
    while is_open {
        let first = match waiting {
            None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(_) => orders.recv_timeout(pause),
        };
        is_open = !matches!(first, Err(RecvTimeoutError::Disconnected));
        for order in first.into_iter().chain(orders.try_iter()) {
            match order {
                Order::Publish { accounts, tick } => waiting = Some((accounts, tick)),
                Order::Close { shown } => {
                    is_open = false;
                    at_close = shown;
                }
            }
        }
        let Some((accounts, tick)) = &waiting else { continue };
        let published = back_end.publish(accounts, *tick);
        let trouble = published.as_ref().err().map(ToString::to_string);
        shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&trouble);
        match trouble {
            None => {
                waiting = None;
                pause = RETRY_PAUSE_MIN;
            }
            Some(_) if !is_open => return published,
            Some(trouble) => {
                tracing::warn!("{trouble}; retrying");
                pause = (pause * 2).min(RETRY_PAUSE_MAX);
            }
        }
    }
    match at_close {
        None => Ok(()),
        Some(shown) => back_end.stopped(shown),
    }
}
