//! The budget file: `queue budget spending` lines, readable by the original scheduler as well.
//!
//! A file is accepted as a whole or refused: one invalid line refuses it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::model::{Credits, QueueName};

/// Largest number of queues. Keeps every product of the allocation within `i128`.
pub(crate) const MAX_QUEUES: usize = 50_000;

const SHOWN_CHARACTERS: usize = 100;
/// What some editors put before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetLine {
    pub queue: QueueName,
    /// Its balance: 0 to 10^12.
    pub budget: Credits,
    /// Its bid for one slot over one interval: 0 to 10^12.
    pub rate: Credits,
    /// The file has the budget with more than twelve decimals, so it was rounded half to even.
    pub is_budget_rounded: bool,
    pub is_rate_rounded: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}, in {text:?}")]
pub struct BudgetFileError {
    /// The file, or what else the lines were read from.
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) reason: String,
}

/// Parses a budget file; `file` names it in errors. Empty lines, lines that begin with `#` and a byte order mark are ignored.
///
/// # Errors
/// The first line that is no line of a queue, or repeats one.
pub fn parse(text: &str, file: &str) -> Result<Vec<BudgetLine>, BudgetFileError> {
    let (lines, errors) = parse_all(text, file);
    errors.into_iter().next().map_or(Ok(lines), Err)
}

/// The same with all wrong lines, beside the right ones.
pub(crate) fn parse_all(text: &str, file: &str) -> (Vec<BudgetLine>, Vec<BudgetFileError>) {
    let mut seen = BTreeSet::new();
    let (mut lines, mut errors) = (Vec::new(), Vec::new());
    for (line, number) in text.trim_start_matches(BYTE_ORDER_MARK).lines().zip(1..) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let parsed = parse_line(line).and_then(|parsed| match seen.insert(parsed.queue.clone()) {
            false => Err(format!("queue {} has a line already", parsed.queue)),
            true if seen.len() > MAX_QUEUES => Err(format!("more than {MAX_QUEUES} queues")),
            true => Ok(parsed),
        });
        match parsed {
            Ok(parsed) => lines.push(parsed),
            Err(reason) => {
                let text = line.chars().take(SHOWN_CHARACTERS).collect();
                errors.push(BudgetFileError { file: file.to_owned(), line: number, text, reason });
            }
        }
    }
    (lines, errors)
}

/// The content of a budget file: 20 decimals, in the order given.
pub fn render(lines: &[BudgetLine]) -> String {
    let mut text = String::with_capacity(lines.len() * 64);
    for line in lines {
        let (budget, rate) = (line.budget.to_file_string(), line.rate.to_file_string());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {budget} {rate}", line.queue);
    }
    text
}

fn parse_line(line: &str) -> Result<BudgetLine, String> {
    let mut fields = line.split_ascii_whitespace();
    let (Some(queue), Some(budget), Some(rate), None) = (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err("expected three fields: queue budget spending".to_owned());
    };
    let queue = QueueName::new(queue).map_err(|error| error.to_string())?;
    let (budget, is_budget_rounded) = amount("budget", budget)?;
    let (rate, is_rate_rounded) = amount("spending", rate)?;
    Ok(BudgetLine { queue, budget, rate, is_budget_rounded, is_rate_rounded })
}

fn amount(field: &str, text: &str) -> Result<(Credits, bool), String> {
    let (amount, is_rounded) = Credits::parse_rounded(text).map_err(|error| format!("{field}: {error}"))?;
    if amount < Credits::ZERO {
        return Err(format!("{field}: {amount} is negative"));
    }
    Ok((amount, is_rounded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<BudgetLine>, BudgetFileError> {
        parse(text, "/etc/hadoop.budget")
    }

    #[test]
    fn the_originals_file_is_read_and_written_alike() {
        let text = "alice 1000.00000000000000000000 0.50000000000000000000\nbob 0.00000000000000000000 2.00000000000000000000\n";
        let lines = read(text).unwrap();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].rate, Credits::parse_exact("0.5").unwrap());
        assert!(!lines[0].is_budget_rounded && !lines[0].is_rate_rounded);
        assert_eq!(render(&lines), text);
    }

    #[test]
    fn single_precision_remains_are_rounded_and_told() {
        let lines = read("q 5 0.10999999940395355225").unwrap();
        assert_eq!(lines[0].rate, Credits::parse_exact("0.109999999404").unwrap());
        assert_eq!((lines[0].is_budget_rounded, lines[0].is_rate_rounded), (false, true));
    }

    /// Defect 1: an empty line kept the original from starting, for ever.
    #[test]
    fn defect_01_bad_lines_are_named_and_empty_ones_passed_over() {
        assert_eq!(read("\n# a comment\n   \nq 1 2\r\n\n").unwrap().len(), 1);
        for bad in ["q 1", "q", "q 1 2 3"] {
            let error = read(&format!("ok 1 1\n{bad}\n")).unwrap_err();
            let expected = format!("/etc/hadoop.budget:2: expected three fields: queue budget spending, in {bad:?}");
            assert_eq!(error.to_string(), expected);
        }
    }

    /// Defects 3 and 8: a bad number dropped the rest of the file; a German locale wrote such numbers itself.
    #[test]
    fn defect_03_and_08_a_bad_number_refuses_the_whole_file() {
        for bad in ["q 12,50000 1", "q x 1", "q 1 NaN", "q -1 1", "q 1 -0.5", "q 1e3 1", "q 1000000000001 1"] {
            let error = read(&format!("a 1 1\n{bad}\nz 1 1\n")).unwrap_err();
            assert_eq!((error.line, error.text.as_str()), (2, bad), "{error}");
        }
    }

    #[test]
    fn a_queue_has_one_line_and_a_good_name() {
        assert_eq!(read("q 1 1\nr 1 1\nq 2 2").unwrap_err().line, 3);
        assert!(read("a,b 1 1").unwrap_err().reason.contains("not a queue name"));
    }
}
