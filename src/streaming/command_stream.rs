//! Data through a command: lines in, lines out. Implementations run it: a process, or a closure of a test.

use std::io::{BufWriter, Read, Write};

use super::aggregate::{AggregateGroup, AggregateRules, Aggregation};
use super::failure::TaskFailure;
use super::key_order::KeyOrder;
use super::line_reader::LineReader;
use super::progress::Progress;
use super::segment_reader::Records;

/// Gathered before it goes into the command's standard input, bytes.
pub(crate) const INPUT_BUFFER_BYTES: usize = 128 << 10;

pub(crate) type CommandInput<'a> = BufWriter<&'a mut dyn Write>;
/// Writes all of the standard input; runs beside [`Take`].
pub(crate) type Feed<'a> = &'a mut (dyn FnMut(&mut CommandInput<'_>) -> Result<(), TaskFailure> + Send);
pub(crate) type Take<'a> = &'a mut dyn FnMut(&mut dyn Read) -> Result<(), TaskFailure>;

/// A command that may run any number of times.
pub trait CommandStream: Sync {
    /// Runs it once: `feed` writes its input, `take` reads its output.
    fn stream(&self, feed: Feed<'_>, take: Take<'_>) -> Result<(), TaskFailure>;
}

/// Writes records as lines: key, separator, value.
pub(crate) fn write_record(
    input: &mut CommandInput<'_>,
    key: &[u8],
    separator: &[u8],
    value: &[u8],
) -> Result<(), TaskFailure> {
    let written = input
        .write_all(key)
        .and_then(|()| input.write_all(separator))
        .and_then(|()| input.write_all(value))
        .and_then(|()| input.write_all(b"\n"));
    written.map_err(TaskFailure::Pipe)
}

pub(crate) fn read_records(
    output: &mut dyn Read,
    rule: &FieldRule,
    mut record: impl FnMut(&[u8], &[u8]) -> Result<(), TaskFailure>,
) -> Result<(), TaskFailure> {
    let mut lines = LineReader::of_command(output);
    while lines.advance().map_err(TaskFailure::Pipe)?.is_some() {
        let (key, value) = rule.split(lines.text());
        record(key, value)?;
    }
    Ok(())
}

/// A combiner between two sorted runs.
#[derive(Clone, Copy)]
pub enum Combiner<'a> {
    Command {
        command: &'a dyn CommandStream,
        /// Between key and value on its standard input.
        input_separator: &'a [u8],
        output: &'a FieldRule,
    },
    Aggregate {
        order: &'a KeyOrder,
        rules: AggregateRules,
        /// Receives activity; stops it.
        progress: &'a Progress,
    },
}

/// Records between two checks for a stop.
const RECORDS_BETWEEN_STOP_CHECKS: u64 = 1 << 14;

impl Combiner<'_> {
    /// Runs it over `records`; its output goes to `out` record by record. Returns the number of input records.
    pub(crate) fn combine(
        &self,
        records: &mut (dyn Records + Send),
        mut out: impl FnMut(&[u8], &[u8]) -> Result<(), TaskFailure>,
    ) -> Result<u64, TaskFailure> {
        let mut read = 0_u64;
        match *self {
            Self::Command { command, input_separator, output } => {
                let mut feed = |input: &mut CommandInput<'_>| {
                    while records.advance().map_err(unreadable)? {
                        read += 1;
                        write_record(input, records.key(), input_separator, records.value())?;
                    }
                    Ok(())
                };
                let mut take = |stdout: &mut dyn Read| read_records(stdout, output, &mut out);
                command.stream(&mut feed, &mut take)?;
            }
            Self::Aggregate { order, rules, progress } => {
                let mut pass_on = |group: AggregateGroup| {
                    group.combined().iter().try_for_each(|value| out(group.key(), value.as_bytes()))
                };
                let mut aggregation = Aggregation::new(order, rules);
                while records.advance().map_err(unreadable)? {
                    read += 1;
                    if read.is_multiple_of(RECORDS_BETWEEN_STOP_CHECKS) {
                        progress.record_activity();
                        progress.check()?;
                    }
                    aggregation.add(records.key(), records.value())?.map_or(Ok(()), &mut pass_on)?;
                }
                aggregation.finish().map_or(Ok(()), pass_on)?;
            }
        }
        Ok(read)
    }
}

/// The failure for an error while reading records between maps and reduces.
pub(crate) fn unreadable(error: std::io::Error) -> TaskFailure {
    TaskFailure::SortedRecords(error)
}

#[cfg(test)]
pub(crate) mod closures {
    use super::*;

    /// A command that is a function from its whole input to its whole output.
    pub(crate) struct Closure<F>(pub(crate) F);

    impl<F: Fn(&[u8]) -> Vec<u8> + Sync> CommandStream for Closure<F> {
        fn stream(&self, feed: Feed<'_>, take: Take<'_>) -> Result<(), TaskFailure> {
            let mut gathered = Vec::new();
            let mut input: CommandInput<'_> = BufWriter::new(&mut gathered);
            feed(&mut input)?;
            input.flush().unwrap();
            drop(input);
            take(&mut &(self.0)(&gathered)[..])
        }
    }

    /// Sums the values of each key, in the order of the keys' first lines.
    pub(crate) fn sums(input: &[u8]) -> Vec<u8> {
        let mut sums: Vec<(String, i64)> = Vec::new();
        for line in String::from_utf8(input.to_vec()).unwrap().lines() {
            let (key, value) = line.split_once('\t').unwrap();
            match sums.last_mut().filter(|(last, _)| last == key) {
                Some((_, sum)) => *sum += value.parse::<i64>().unwrap(),
                None => sums.push((key.to_owned(), value.parse().unwrap())),
            }
        }
        sums.iter().map(|(key, sum)| format!("{key}\t{sum}\n")).collect::<String>().into_bytes()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRule {
    /// Between two fields; not empty.
    pub(crate) separator: Vec<u8>,
    /// Fields of the key; 0 means 1.
    pub(crate) key_fields: u32,
}

impl FieldRule {
    /// Key and value; a line with too few separators is all key.
    #[inline]
    pub(crate) fn split<'a>(&self, line: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let nth = self.key_fields.max(1) as usize - 1;
        let cut = match *self.separator {
            [byte] if nth == 0 => memchr::memchr(byte, line),
            [byte] => memchr::memchr_iter(byte, line).nth(nth),
            _ => memchr::memmem::find_iter(line, &self.separator).nth(nth),
        };
        match cut {
            Some(at) => (&line[..at], &line[at + self.separator.len()..]),
            None => (line, b""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_the_nth_separator() {
        let split = |separator: &str, key_fields, line: &'static str| {
            let rule = FieldRule { separator: separator.into(), key_fields };
            let (key, value) = rule.split(line.as_bytes());
            (String::from_utf8_lossy(key).into_owned(), String::from_utf8_lossy(value).into_owned())
        };
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(split("\t", 1, "a\tb\tc"), pair("a", "b\tc"));
        assert_eq!(split("\t", 0, "a\tb\tc"), pair("a", "b\tc"));
        assert_eq!(split("\t", 2, "a\tb\tc"), pair("a\tb", "c"));
        assert_eq!(split("\t", 3, "a\tb\tc"), pair("a\tb\tc", ""));
        assert_eq!(split("::", 1, "a::b"), pair("a", "b"));
        assert_eq!(split("::", 1, "a:b"), pair("a:b", ""));
        assert_eq!(split("\t", 1, "\t"), pair("", ""));
    }
}
