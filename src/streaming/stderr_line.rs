//! A line of a command's standard error: a counter, a status, or text for the log (1.2.1 `PipeMapRed.MRErrorThread`).

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
    /// Goes to the log.
    Log(&'a [u8]),
}

impl<'a> StderrLine<'a> {
    /// Reads a line without its end; `prefix` is that of reports.
    #[must_use]
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
