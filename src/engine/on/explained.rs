//! An explanation whose costly part is still to be computed off the owner thread.

use crate::api::{Explanation, SufficientRate};
use crate::market::{Bidding, Quote};
use crate::model::{Kind, PerKind, PerPool};

/// An explanation without [`SufficientRate`], which takes too long for the owner thread.
#[derive(Clone, Debug)]
pub struct Explained {
    pub(super) explanation: Explanation,
    /// The bids that its queue competes with, and the kinds of slots that the job waits for.
    pub(super) bidding: Option<(Bidding, Vec<Kind>)>,
}

impl Explained {
    /// The whole explanation. Takes as long as about eighty allocations: call it on another thread than the owner's.
    pub(crate) fn finish(self) -> Explanation {
        let Explained { mut explanation, bidding } = self;
        if let (Some(buyer), Some((bidding, kinds))) = (&mut explanation.market, bidding) {
            // A bid that its balance does not pay buys nothing, not even what is held.
            let held = if bidding.is_funded(buyer.bid) { buyer.held } else { PerKind::default() };
            let is_more = |quota: PerPool<u32>| kinds.iter().any(|kind| quota[*kind] > held[*kind]);
            buyer.moving = bidding.least_rate(is_more).map(SufficientRate::from);
        }
        explanation
    }
}

impl From<Explanation> for Explained {
    fn from(explanation: Explanation) -> Self {
        Explained { explanation, bidding: None }
    }
}

impl From<Quote> for SufficientRate {
    fn from(quote: Quote) -> Self {
        SufficientRate {
            rate: quote.rate,
            price: quote.price,
            share: quote.share.to_string(),
            quota: quote.quota.slots(),
        }
    }
}
