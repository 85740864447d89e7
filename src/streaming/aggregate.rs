//! Aggregation of values by what their keys name, as `LongValueSum:words` (1.2.1 `ValueAggregatorCombiner`,
//! `ValueAggregatorReducer`, `lib.aggregate`).

use std::collections::{BTreeMap, BTreeSet};

use super::failure::TaskFailure;
use super::key_order::KeyOrder;

/// Between the kind of an aggregation and its name.
const SEPARATOR: u8 = b':';
const EXPECTED: &str = "expected KIND:NAME, KIND one of LongValueSum, LongValueMax, LongValueMin, DoubleValueSum, \
    StringValueMax, StringValueMin, UniqValueCount and ValueHistogram";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregateRules {
    /// Different values that are counted at most, and one more; `None`: all.
    pub(crate) most_unique: Option<u64>,
}

/// The values of one key so far.
#[derive(Clone, Debug, PartialEq)]
enum Aggregate {
    LongSum(i64),
    LongMax(i64),
    LongMin(i64),
    DoubleSum(f64),
    /// Texts are in the order of their UTF-16 units, as in Java.
    StringMax(Option<String>),
    StringMin(Option<String>),
    UniqueCount {
        values: BTreeSet<String>,
        most: Option<u64>,
    },
    /// Values, and how often each was there.
    Histogram(BTreeMap<String, i64>),
}

/// A key whose values are aggregated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AggregateGroup {
    key: Vec<u8>,
    aggregate: Aggregate,
}

#[derive(Debug)]
pub(crate) struct Aggregation<'a> {
    order: &'a KeyOrder,
    rules: AggregateRules,
    group: Option<AggregateGroup>,
}

impl<'a> Aggregation<'a> {
    /// Without records yet, which come in this order.
    pub(crate) fn new(order: &'a KeyOrder, rules: AggregateRules) -> Self {
        Self { order, rules, group: None }
    }

    /// Adds a record; returns the group before it where it begins another.
    /// Errors: [`TaskFailure::Unusable`]: the key names no aggregation, or the value is none of it.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<Option<AggregateGroup>, TaskFailure> {
        if let Some(group) = self.group.as_mut().filter(|group| self.order.same_group(&group.key, key)) {
            group.add(value)?;
            return Ok(None);
        }
        let mut group = AggregateGroup { key: key.to_owned(), aggregate: Aggregate::of_key(key, self.rules)? };
        group.add(value)?;
        Ok(self.group.replace(group))
    }

    pub(crate) fn finish(self) -> Option<AggregateGroup> {
        self.group
    }
}

impl AggregateGroup {
    fn add(&mut self, value: &[u8]) -> Result<(), TaskFailure> {
        let Self { key, aggregate } = self;
        let text = String::from_utf8_lossy(value);
        aggregate.add(&text).map_err(|expected| TaskFailure::Unusable {
            what: format!("value {text:?} of {:?}", String::from_utf8_lossy(key)),
            reason: format!("expected {expected}"),
        })
    }

    /// The key, which a combiner keeps.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The values that a combiner passes on in place of those it got.
    pub(crate) fn combined(&self) -> Vec<String> {
        match &self.aggregate {
            Aggregate::UniqueCount { values, .. } => values.iter().cloned().collect(),
            Aggregate::Histogram(counts) => counts.iter().map(|(value, count)| format!("{value}\t{count}")).collect(),
            _ => vec![self.report()],
        }
    }

    /// The key of the output: what the aggregation is of.
    pub(crate) fn name(&self) -> &[u8] {
        split_key(&self.key).map_or(&self.key, |(_, name)| name)
    }

    pub(crate) fn report(&self) -> String {
        match &self.aggregate {
            Aggregate::LongSum(number) | Aggregate::LongMax(number) | Aggregate::LongMin(number) => number.to_string(),
            Aggregate::DoubleSum(sum) => java_double(*sum),
            Aggregate::StringMax(text) | Aggregate::StringMin(text) => text.clone().unwrap_or_default(),
            Aggregate::UniqueCount { values, .. } => values.len().to_string(),
            Aggregate::Histogram(counts) => histogram_report(counts.values().copied().collect()),
        }
    }
}

/// The kind of the aggregation that a key names, and what it is of.
fn split_key(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(SEPARATOR, key)?;
    Some((&key[..at], &key[at + 1..]))
}

impl Aggregate {
    fn of_key(key: &[u8], rules: AggregateRules) -> Result<Self, TaskFailure> {
        let kind = split_key(key).and_then(|(kind, _)| std::str::from_utf8(kind).ok()).unwrap_or_default();
        Ok(match kind.to_ascii_lowercase().as_str() {
            "longvaluesum" => Self::LongSum(0),
            "longvaluemax" => Self::LongMax(i64::MIN),
            "longvaluemin" => Self::LongMin(i64::MAX),
            "doublevaluesum" => Self::DoubleSum(0.0),
            "stringvaluemax" => Self::StringMax(None),
            "stringvaluemin" => Self::StringMin(None),
            "uniqvaluecount" => Self::UniqueCount { values: BTreeSet::new(), most: rules.most_unique },
            "valuehistogram" => Self::Histogram(BTreeMap::new()),
            _ => {
                let what = format!("aggregate: key {:?}", String::from_utf8_lossy(key));
                return Err(TaskFailure::Unusable { what, reason: EXPECTED.to_owned() });
            }
        })
    }

    /// Adds a value; an error is what was expected.
    fn add(&mut self, text: &str) -> Result<(), &'static str> {
        let number = || text.parse::<i64>().map_err(|_| "a whole number");
        match self {
            Self::LongSum(sum) => *sum = sum.wrapping_add(number()?),
            Self::LongMax(most) => *most = number()?.max(*most),
            Self::LongMin(least) => *least = number()?.min(*least),
            Self::DoubleSum(sum) => *sum += parse_double(text).ok_or("a decimal number")?,
            Self::StringMax(most) => {
                if most.as_deref().is_none_or(|most| most.encode_utf16().lt(text.encode_utf16())) {
                    *most = Some(text.to_owned());
                }
            }
            Self::StringMin(least) => {
                if least.as_deref().is_none_or(|least| least.encode_utf16().gt(text.encode_utf16())) {
                    *least = Some(text.to_owned());
                }
            }
            Self::UniqueCount { values, most } => {
                // As Hadoop, which looks before it adds.
                if most.is_none_or(|most| values.len() as u64 <= most) {
                    values.insert(text.to_owned());
                }
            }
            Self::Histogram(counts) => {
                let (value, count) = text.rsplit_once('\t').unwrap_or((text, "1"));
                let count: i64 = count.parse().map_err(|_| "VALUE or VALUE TAB COUNT, COUNT a whole number")?;
                let so_far = counts.entry(value.to_owned()).or_default();
                *so_far = so_far.wrapping_add(count);
            }
        }
        Ok(())
    }
}

/// Number of different values, then of how often they were there: least, median, most, average, standard deviation.
fn histogram_report(mut counts: Vec<i64>) -> String {
    counts.sort_unstable();
    let number = counts.len();
    let (Some(least), Some(most)) = (counts.first(), counts.last()) else { return number.to_string() };
    let sum = counts.iter().fold(0_i64, |sum, count| sum.wrapping_add(*count));
    let average = sum as f64 / number as f64;
    let squares: f64 = counts.iter().map(|count| (*count as f64 - average).powi(2)).sum();
    let deviation = (squares / number as f64).sqrt();
    let median = counts[number / 2];
    format!("{number}\t{least}\t{median}\t{most}\t{}\t{}", java_double(average), java_double(deviation))
}

/// Reads a number as Java's `Double.parseDouble` does, but for hexadecimal ones.
fn parse_double(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c| c <= ' ');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "NaN" || unsigned == "Infinity" {
        return text.parse().ok();
    }
    let number = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    if unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') { number.parse().ok() } else { None }
}

/// A number as Java's `Double.toString` writes it.
fn java_double(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let size = number.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        // With a digit after the point.
        return format!("{number:?}");
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: AggregateRules = AggregateRules { most_unique: None };

    /// The last group of records with one key.
    fn group(key: &str, values: &[&str], rules: AggregateRules) -> Result<AggregateGroup, String> {
        let mut aggregation = Aggregation::new(&KeyOrder::Bytes, rules);
        for value in values {
            let before = aggregation.add(key.as_bytes(), value.as_bytes()).map_err(|failure| failure.to_string())?;
            assert_eq!(before, None, "all are of one key");
        }
        Ok(aggregation.finish().unwrap())
    }

    fn report(key: &str, values: &[&str]) -> String {
        group(key, values, RULES).unwrap().report()
    }

    #[test]
    fn every_kind_reports_what_hadoop_reports() {
        let numbers = ["3", "-7", "+12"];
        assert_eq!(report("LongValueSum:a", &numbers), "8");
        assert_eq!(report("longvaluemax:a", &numbers), "12");
        assert_eq!(report("LONGVALUEMIN:a", &numbers), "-7");
        assert_eq!(report("LongValueSum:a", &["9223372036854775807", "1"]), "-9223372036854775808", "as Java's long");
        assert_eq!(report("DoubleValueSum:a", &["1", " 2.5 ", "1e1", "0.5f"]), "14.0");
        assert_eq!(report("StringValueMax:a", &["pear", "Zoo", "apple"]), "pear");
        assert_eq!(report("StringValueMin:a", &["pear", "Zoo", "apple"]), "Zoo");
        // Java compares UTF-16 units: a surrogate pair is before U+FF5E.
        assert_eq!(report("StringValueMax:a", &["\u{ff5e}", "\u{1f600}"]), "\u{ff5e}");
        assert_eq!(report("UniqValueCount:a", &["x", "y", "x"]), "2");
        assert_eq!(
            report("ValueHistogram:a", &["x", "y\t3", "x\t1", "a\tb\t5"]),
            "3\t2\t3\t5\t3.3333333333333335\t1.247219128924647"
        );
    }

    #[test]
    fn a_combiner_passes_on_what_adds_up() {
        let combined = |key: &str, values: &[&str]| group(key, values, RULES).unwrap().combined();
        assert_eq!(combined("LongValueSum:a", &["1", "2"]), ["3"]);
        assert_eq!(combined("UniqValueCount:a", &["y", "x", "y"]), ["x", "y"]);
        assert_eq!(combined("ValueHistogram:a", &["y", "x\t4", "y"]), ["x\t4", "y\t2"]);
    }

    #[test]
    fn groups_end_where_another_key_begins() {
        let mut aggregation = Aggregation::new(&KeyOrder::Bytes, RULES);
        assert_eq!(aggregation.add(b"LongValueSum:a:b", b"1").unwrap(), None);
        let first = aggregation.add(b"LongValueSum:c", b"5").unwrap().unwrap();
        assert_eq!((first.key(), first.name(), first.report().as_str()), (&b"LongValueSum:a:b"[..], &b"a:b"[..], "1"));
        assert_eq!(aggregation.finish().unwrap().name(), b"c");
    }

    #[test]
    fn unique_values_are_counted_up_to_one_more_than_the_limit() {
        let rules = AggregateRules { most_unique: Some(2) };
        assert_eq!(group("UniqValueCount:a", &["1", "2", "3", "4"], rules).unwrap().report(), "3");
    }

    #[test]
    fn keys_and_values_that_are_none_are_named() {
        let refused = |key: &str, value: &str| group(key, &[value], RULES).unwrap_err();
        assert!(
            refused("words", "1").starts_with("aggregate: key \"words\": expected KIND:NAME, KIND one of LongValueSum")
        );
        assert!(refused("Sum:words", "1").contains("key \"Sum:words\""));
        assert_eq!(refused("LongValueSum:w", "1.5"), "value \"1.5\" of \"LongValueSum:w\": expected a whole number");
        assert_eq!(
            refused("DoubleValueSum:w", "inf"),
            "value \"inf\" of \"DoubleValueSum:w\": expected a decimal number"
        );
        assert!(refused("ValueHistogram:w", "x\ty").contains("expected VALUE or VALUE TAB COUNT"));
    }

    #[test]
    fn numbers_are_written_as_java_writes_them() {
        let numbers = [0.0, 1.0, -2.5, 1e7, 1.5e10, 0.001, 0.0001, 1e-10, 123_456.789, f64::NAN, f64::NEG_INFINITY];
        let written =
            ["0.0", "1.0", "-2.5", "1.0E7", "1.5E10", "0.001", "1.0E-4", "1.0E-10", "123456.789", "NaN", "-Infinity"];
        assert_eq!(numbers.map(java_double), written);
        assert_eq!(
            ["1.5d", "-.5", "NaN", "-Infinity"].map(parse_double).map(|number| number.map(java_double)),
            ["1.5", "-0.5", "NaN", "-Infinity"].map(|text| Some(text.to_owned()))
        );
    }
}
