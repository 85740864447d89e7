//! Values of options that more than one command takes, with errors that say what was expected.

/// Parses a whole number of at least `LEAST`.
///
/// # Errors
/// What was expected.
pub(super) fn whole_number<const LEAST: u32>(text: &str) -> Result<u32, String> {
    let expected = || format!("expected a whole number from {LEAST} to {}", u32::MAX);
    text.trim().parse().ok().filter(|number| *number >= LEAST).ok_or_else(expected)
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
        assert!(queue_name(" ").is_err() && queue_name("a").is_ok());
    }
}
