//! Cells of comma-separated values (RFC 4180).

/// A text as a cell, in quotes where it must be.
pub fn csv_cell(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => quoted_csv_cell(text),
        false => text.to_owned(),
    }
}

/// A text as a cell in quotes.
pub fn quoted_csv_cell(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A text that no spreadsheet takes for a formula.
pub fn without_formula(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
}
