//! What a command says on standard error, line by line, and how it failed: its status, the map's input, and its last words.

use std::collections::VecDeque;
use std::fmt;

use crate::supervisor::command::signal_name;

/// Lines of standard error that are kept.
const LAST_LINES: usize = 8;
/// Characters of each that are kept.
const LONGEST_LINE: usize = 300;

/// A command that ended with another status than 0. Its first line is that of 1.2.1 `PipeMapRed`, so that a reader of stock diagnostics
/// finds what it expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandExit {
    /// The status, 128 + n for signal n.
    pub(crate) code: i32,
    pub(crate) command: String,
    /// A map's part of its input.
    pub(crate) input: Option<String>,
    pub(crate) last_lines: LastLines,
}

/// The last lines of a command's standard error, without empty ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LastLines(VecDeque<String>);

impl LastLines {
    /// Appends a line, and forgets the first one kept if there are too many.
    pub(crate) fn add(&mut self, line: &[u8]) {
        let start = &line[..line.len().min(4 * LONGEST_LINE)];
        let text = String::from_utf8_lossy(start);
        if text.trim().is_empty() {
            return;
        }
        if self.0.len() == LAST_LINES {
            self.0.pop_front();
        }
        self.0.push_back(text.trim_end().chars().take(LONGEST_LINE).collect());
    }
}

impl std::error::Error for CommandExit {}

impl fmt::Display for CommandExit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CommandExit { code, command, input, last_lines } = self;
        write!(out, "java.lang.RuntimeException: PipeMapRed.waitOutputThreads(): subprocess failed with code {code}")?;
        write!(out, "\n{command:?} ended with status {code}")?;
        if let Some(name) = signal_name(code.saturating_sub(128)) {
            write!(out, ", which is that of a command ended by signal {name}")?;
        }
        if let Some(input) = input {
            write!(out, "\ninput {input}")?;
        }
        last_lines.0.iter().try_for_each(|line| write!(out, "\n  {line}"))
    }
}

/// Characters of a status that are kept.
const LONGEST_STATUS: usize = 512;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StderrLine<'a> {
    /// `reporter:counter:GROUP,NAME,N`.
    Counter {
        group: String,
        name: String,
        /// What is added.
        count: i64,
    },
    /// `reporter:status:TEXT`.
    Status(String),
    /// Begins as a report and is none: dropped with a warning.
    Malformed(String),
    Log(&'a [u8]),
}

impl<'a> StderrLine<'a> {
    /// Reads a line without its end; `prefix` is that of reports.
    pub(crate) fn parse(line: &'a [u8], prefix: &str) -> Self {
        let Some(report) = line.strip_prefix(prefix.as_bytes()) else { return StderrLine::Log(line) };
        let report = String::from_utf8_lossy(report);
        if let Some(status) = report.strip_prefix("status:") {
            return StderrLine::Status(status.trim().chars().take(LONGEST_STATUS).collect());
        }
        let counter = report.strip_prefix("counter:").and_then(|counter| {
            let parts: Vec<&str> = counter.trim().split(',').collect();
            let [group, name, count] = parts[..] else { return None };
            Some((group.to_owned(), name.to_owned(), count.parse().ok()?))
        });
        match counter {
            Some((group, name, count)) => StderrLine::Counter { group, name, count },
            None => StderrLine::Malformed(String::from_utf8_lossy(line).into_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_the_command_the_status_the_input_and_the_last_words() {
        let mut last_lines = LastLines::default();
        for number in 0..20 {
            last_lines.add(format!("line {number}").as_bytes());
        }
        last_lines.add(b"  \t");
        last_lines.add(&[b'x'; 5_000]);
        last_lines.add(b"SyntaxError: expected ':'  ");
        let command = "python3 bad.py".to_owned();
        let input = Some("file:/in/orders.csv, bytes 0 to 27000".to_owned());
        let exit = CommandExit { code: 1, command, input, last_lines };
        let text = exit.to_string();
        let (start, rest) = text.split_at(text.find("  xx").unwrap());
        insta::assert_snapshot!(start, @r#"
        java.lang.RuntimeException: PipeMapRed.waitOutputThreads(): subprocess failed with code 1
        "python3 bad.py" ended with status 1
        input file:/in/orders.csv, bytes 0 to 27000
          line 14
          line 15
          line 16
          line 17
          line 18
          line 19
        "#);
        assert_eq!(rest, format!("  {}\n  SyntaxError: expected ':'", "x".repeat(300)));
    }

    #[test]
    fn a_signal_is_named() {
        let exit = CommandExit { code: 139, command: "./a".to_owned(), input: None, last_lines: LastLines::default() };
        insta::assert_snapshot!(exit, @r#"
        java.lang.RuntimeException: PipeMapRed.waitOutputThreads(): subprocess failed with code 139
        "./a" ended with status 139, which is that of a command ended by signal SEGV
        "#);
    }

    #[test]
    fn reports_are_told_from_words() {
        let parse = |line: &'static str| StderrLine::parse(line.as_bytes(), "reporter:");
        let counter = |group: &str, name: &str, count| StderrLine::Counter {
            group: group.to_owned(),
            name: name.to_owned(),
            count,
        };
        assert_eq!(parse("reporter:counter:My Group,lines,1"), counter("My Group", "lines", 1));
        assert_eq!(parse("reporter:counter: g,n,-7 "), counter("g", "n", -7));
        assert_eq!(parse("reporter:status:  halfway "), StderrLine::Status("halfway".to_owned()));
        assert_eq!(parse("plain"), StderrLine::Log(b"plain"));
        for bad in ["reporter:counter:g,n", "reporter:counter:g,n,1,2", "reporter:counter:g,n, 1", "reporter:x"] {
            assert_eq!(parse(bad), StderrLine::Malformed(bad.to_owned()));
        }
        let long = format!("reporter:status:{}", "é".repeat(600));
        assert_eq!(StderrLine::parse(long.as_bytes(), "reporter:"), StderrLine::Status("é".repeat(512)));
        assert_eq!(StderrLine::parse(b"counter:g,n,1", ""), counter("g", "n", 1));
    }
}
