//! Who asks, and what is shown then: the API, the pages and the log ask here alone.
//!
//! Without a proof of who asks, all are strangers. Money is for them only where the market's visibility is public; the parts of
//! jobs and applications only while access lists are off.

use super::owner::Owner;
use super::state::WebState;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Viewer {
    sees_money: bool,
    sees_parts: bool,
}

impl Viewer {
    /// Somebody who has proved nothing.
    pub(super) fn stranger<O: Owner>(state: &WebState<O>) -> Self {
        Self { sees_money: state.shows_money, sees_parts: !state.stock.are_acls_on }
    }

    #[cfg(test)]
    pub(super) const fn of(sees_money: bool, sees_parts: bool) -> Self {
        Self { sees_money, sees_parts }
    }

    /// Whether rates, shares, budgets and costs are shown.
    pub(super) const fn sees_money(self) -> bool {
        self.sees_money
    }

    /// Whether more of a job or an application is shown than its row in lists.
    pub(super) const fn sees_parts(self) -> bool {
        self.sees_parts
    }
}
