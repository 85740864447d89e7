//! Cells of comma-separated values (RFC 4180). What a spreadsheet would take for a formula gets a `'` before it.

/// A text as a cell, in quotes where it must be.
pub(crate) fn csv_cell(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => quoted_csv_cell(text),
        false => without_formula(text),
    }
}

pub(crate) fn quoted_csv_cell(text: &str) -> String {
    format!("\"{}\"", without_formula(text).replace('"', "\"\""))
}

fn without_formula(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_negative_number(text);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

/// An amount of money that was taken is one.
fn is_negative_number(text: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.strip_prefix('-').is_some_and(|number| match number.split_once('.') {
        Some((whole, part)) => is_digits(whole) && is_digits(part),
        None => is_digits(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_formulas_and_numbers_stay() {
        for (text, cell) in [
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            ("=1", "'=1"),
            ("+1", "'+1"),
            ("@a", "'@a"),
            ("-1+2", "'-1+2"),
            ("-", "'-"),
            ("-1.", "'-1."),
            ("-12.5", "-12.5"),
            ("-5", "-5"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(csv_cell(text), cell);
        }
    }
}
