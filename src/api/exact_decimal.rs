//! A decimal number of at most six decimals, in JSON an exact text.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::PartsPerMillion;

/// A number that is not negative: `2.666666`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ExactDecimal(pub(crate) PartsPerMillion);

/// A text that is no such number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a decimal number of at most six decimals")]
pub(crate) struct ExactDecimalError(String);

impl ExactDecimal {
    /// With one decimal, half up, as pages show it.
    pub(crate) fn to_tenths(self) -> String {
        let tenths = self.0.0.saturating_add(50_000) / 100_000;
        format!("{}.{}", tenths / 10, tenths % 10)
    }
}

impl fmt::Display for ExactDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<ExactDecimal> for String {
    fn from(decimal: ExactDecimal) -> Self {
        decimal.to_string()
    }
}

impl TryFrom<String> for ExactDecimal {
    type Error = ExactDecimalError;

    fn try_from(text: String) -> Result<Self, ExactDecimalError> {
        PartsPerMillion::parse(&text).map(ExactDecimal).ok_or(ExactDecimalError(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_holds_the_exact_number_and_pages_one_decimal() {
        let share = ExactDecimal(PartsPerMillion(2_650_001));
        assert_eq!(serde_json::to_string(&share).unwrap(), "\"2.650001\"");
        assert_eq!(serde_json::from_str::<ExactDecimal>("\"2.650001\"").unwrap(), share);
        assert_eq!(
            [2_650_000, 2_649_999, 0].map(|of| ExactDecimal(PartsPerMillion(of)).to_tenths()),
            ["2.7", "2.6", "0.0"]
        );
        assert!(serde_json::from_str::<ExactDecimal>("\"-1\"").is_err());
    }
}
