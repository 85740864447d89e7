//! Parses the dates of `--since` and `--until`.

use super::time_text::parse_local_ms;

/// A text that is not a date.
#[derive(Debug, thiserror::Error)]
#[error("{option} {text:?} is not a date such as 2026-11-21, with an optional time after a T")]
pub(crate) struct InvalidTime {
    option: &'static str,
    text: String,
}

/// Parses the date of `--since`, epoch ms.
pub(super) fn parse_time_ms(text: &str) -> Result<i64, InvalidTime> {
    parse_time_of("--since", text)
}

/// Parses the date of an option, epoch ms.
pub(super) fn parse_time_of(option: &'static str, text: &str) -> Result<i64, InvalidTime> {
    parse_local_ms(text).ok_or_else(|| InvalidTime { option, text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_date_is_named_with_its_option() {
        assert_eq!(parse_time_ms("1970-01-02T00:00Z").unwrap(), 86_400_000);
        for text in ["", "yesterday", "1970-13-01", "5"] {
            let error = parse_time_ms(text).unwrap_err();
            assert!(error.to_string().starts_with("--since \""), "{error}");
        }
    }
}
