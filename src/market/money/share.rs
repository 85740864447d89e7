//! The share of the cluster that a queue has bought, as an exact ratio.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::Credits;

/// Resolution of a printed share: parts of a whole.
const PRINTED_PARTS: i128 = 1_000_000_000;

/// Effective rate over price; 0 to 1. The shares of one interval have the same price and sum to at most 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    rate: Credits,
    price: Credits,
}

impl Share {
    pub(crate) const ZERO: Share = Share { rate: Credits::ZERO, price: Credits::ZERO };

    /// The share that a rate buys at a price; nothing unless 0 < rate <= price.
    pub(crate) fn new(rate: Credits, price: Credits) -> Share {
        if rate > Credits::ZERO && rate <= price { Share { rate, price } } else { Share::ZERO }
    }

    pub(crate) fn rate(self) -> Credits {
        self.rate
    }

    /// The price: the ratio's denominator; 0 for no share.
    pub(crate) fn price(self) -> Credits {
        self.price
    }
}

/// Nine decimals, rounded down.
impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let price = self.price.units();
        let parts = if price > 0 { self.rate.units() * PRINTED_PARTS / price } else { 0 };
        write!(formatter, "{}.{:09}", parts / PRINTED_PARTS, parts % PRINTED_PARTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(rate: &str, price: &str) -> String {
        Share::new(Credits::parse_exact(rate).unwrap(), Credits::parse_exact(price).unwrap()).to_string()
    }

    #[test]
    fn shares_print_nine_decimals_rounded_down() {
        assert_eq!(share("0.11", "12.249998"), "0.008979593");
        assert_eq!(share("2", "3"), "0.666666666");
        assert_eq!(share("1", "1"), "1.000000000");
        assert_eq!(share("0", "1"), "0.000000000");
        assert_eq!(share("999999999999.999999999999", "1000000000000"), "0.999999999");
    }

    /// Defect 10: the original printed a share of 50.0.
    #[test]
    fn defect_10_no_share_exceeds_one() {
        assert_eq!(share("50", "1"), "0.000000000");
    }
}
