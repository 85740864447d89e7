//! Defaults that stock clients write into every job.xml: those of 1.2.1 `core-default.xml` and `mapred-default.xml` with a value.

use std::sync::LazyLock;

/// `name=value` lines, by name.
const DEFAULTS: &str = include_str!("hadoop_defaults.properties");

static BY_NAME: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| DEFAULTS.lines().filter_map(|line| line.split_once('=')).collect());

pub(crate) fn stock_defaults() -> impl Iterator<Item = (&'static str, &'static str)> {
    BY_NAME.iter().copied()
}

pub(crate) fn stock_default(name: &str) -> Option<&'static str> {
    let place = BY_NAME.binary_search_by_key(&name, |(known, _)| known).ok()?;
    Some(BY_NAME[place].1)
}

#[must_use]
pub(crate) fn is_hadoop_key(name: &str) -> bool {
    stock_default(name).is_some()
}

/// Whether 1.2.1 has this default for this name, so that setting it changes nothing.
#[must_use]
pub(crate) fn is_hadoop_default(name: &str, value: &str) -> bool {
    stock_default(name).is_some_and(|default| default.trim() == value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_default_and_each_name_is_there_once() {
        let names: Vec<_> = stock_defaults().map(|(name, _)| name).collect();
        assert_eq!(names.len(), DEFAULTS.lines().count());
        assert!(names.is_sorted_by(|a, b| a < b));
        assert_eq!(stock_default("mapred.map.tasks"), Some("2"));
        assert!(is_hadoop_default("mapred.map.tasks", " 2 ") && !is_hadoop_default("mapred.map.tasks", "3"));
    }
}
