//! Values of options that more than one command takes, with errors that say what was expected.

use crate::model::Credits;

/// Parses a whole number of at least `LEAST`.
///
/// # Errors
/// What was expected.
pub(super) fn whole_number<const LEAST: u32>(text: &str) -> Result<u32, String> {
    whole_number_to::<LEAST, { u32::MAX }>(text)
}

/// Parses a whole number from `LEAST` to `MOST`.
///
/// # Errors
/// What was expected.
pub(super) fn whole_number_to<const LEAST: u32, const MOST: u32>(text: &str) -> Result<u32, String> {
    let expected = || format!("expected a whole number from {LEAST} to {MOST}");
    text.trim().parse().ok().filter(|number| (LEAST..=MOST).contains(number)).ok_or_else(expected)
}

/// Checks an amount of credits that is not negative, and leaves it as it is written.
///
/// # Errors
/// What was expected.
pub(super) fn credits(text: &str) -> Result<String, String> {
    match Credits::parse_exact(text) {
        Ok(amount) if amount < Credits::ZERO => Err("expected credits that are not negative, such as 12.5".to_owned()),
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses the name of a queue, which is not empty.
///
/// # Errors
/// What was expected.
pub(super) fn queue_name(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("it is empty; expected the name of a queue") } else { Ok(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_says_what_one_is() {
        assert_eq!([whole_number::<0>("0"), whole_number::<1>(" 7 ")], [Ok(0), Ok(7)]);
        for text in ["-1", "0", "many", "4294967296", "1.5", ""] {
            assert_eq!(whole_number::<1>(text).unwrap_err(), "expected a whole number from 1 to 4294967295", "{text}");
        }
        assert_eq!(whole_number_to::<1, 100>("101").unwrap_err(), "expected a whole number from 1 to 100");
        assert!(queue_name(" ").is_err() && queue_name("a").is_ok());
    }

    #[test]
    fn what_is_no_amount_is_refused_before_anything_is_sent() {
        assert_eq!(credits("12.5"), Ok("12.5".to_owned()));
        assert!(credits("1,5").unwrap_err().contains("is not a decimal number"), "{:?}", credits("1,5"));
        assert!(credits("-1").unwrap_err().contains("not negative"));
    }
}
