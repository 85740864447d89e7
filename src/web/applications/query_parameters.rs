//! Parameters of a query, read as strictly as bodies are: each once, none unknown.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

use axum::extract::Query;
use axum::http::Uri;

use crate::engine::BodyFault;

use super::json::MAX_FINDINGS;
use super::problem::Problem;
use super::problem_name::ProblemName;

/// The parameters of a request while they are read.
#[derive(Debug)]
pub(crate) struct QueryParameters {
    /// A parameter that is repeated has several values.
    left: BTreeMap<String, Vec<String>>,
    faults: Vec<BodyFault>,
    known: Vec<&'static str>,
}

impl QueryParameters {
    /// The decoded parameters of an address.
    pub(crate) fn of(uri: &Uri) -> Self {
        Self::with_repeated(uri, &[])
    }

    /// The same where these may be repeated.
    pub(crate) fn with_repeated(uri: &Uri, repeated: &[&str]) -> Self {
        let mut read = Self { left: BTreeMap::new(), faults: Vec::new(), known: Vec::new() };
        match Query::<Vec<(String, String)>>::try_from_uri(uri) {
            Err(_) => read.refuse("", "the query is not URL-encoded"),
            Ok(Query(pairs)) => {
                for (name, value) in pairs {
                    if !repeated.contains(&name.as_str()) && read.left.contains_key(&name) {
                        read.refuse(&name, "the parameter is repeated");
                        continue;
                    }
                    read.left.entry(name).or_default().push(value);
                }
            }
        }
        read
    }

    /// The value of a parameter that was not taken yet, as it is.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.left.get(name)?.first().map(String::as_str)
    }

    pub(crate) fn take(&mut self, name: &'static str) -> Option<String> {
        self.take_all(name).into_iter().next()
    }

    /// The values of a parameter that may be repeated.
    pub(crate) fn take_all(&mut self, name: &'static str) -> Vec<String> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        self.left.remove(name).unwrap_or_default()
    }

    /// Values of a parameter that may be repeated, each of which `parse` reads.
    pub(crate) fn parsed_all<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Vec<T> {
        let texts = self.take_all(name);
        let values: Vec<T> = texts.iter().filter_map(|text| parse(text)).collect();
        if values.len() < texts.len() {
            self.refuse(name, &format!("expected {expected}"));
        }
        values
    }

    /// A parameter that `parse` reads; none if it is absent or wrong.
    pub(crate) fn parsed<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.take(name)?;
        let value = parse(&text);
        if value.is_none() {
            self.refuse(name, &format!("expected {expected}"));
        }
        value
    }

    pub(crate) fn whole<N: TryFrom<u64>>(&mut self, name: &'static str, range: RangeInclusive<u64>) -> Option<N> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        self.parsed(name, &expected, |text| {
            let number = plain_number(text).filter(|number| range.contains(number))?;
            N::try_from(number).ok()
        })
    }

    pub(crate) fn list<T>(&mut self, name: &'static str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Vec<T> {
        self.parsed(name, expected, |text| text.split(',').map(parse).collect()).unwrap_or_default()
    }

    /// Notes that a parameter is wrong or missing.
    pub(crate) fn refuse(&mut self, name: &str, detail: &str) {
        if self.faults.len() < MAX_FINDINGS {
            self.faults.push(BodyFault { pointer: name.to_owned(), detail: detail.to_owned() });
        }
    }

    /// Refuses parameters that were not asked for, and all that was found wrong.
    pub(crate) fn end(mut self) -> Result<(), Problem> {
        let known = self.known.join(", ");
        for name in std::mem::take(&mut self.left).into_keys() {
            self.refuse(&name, &format!("the parameter is unknown; known are {known}"));
        }
        if self.faults.is_empty() {
            return Ok(());
        }
        Err(Problem::of_faults(ProblemName::InvalidRequest, self.faults))
    }
}

/// A number written in digits alone.
fn plain_number<N: FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
