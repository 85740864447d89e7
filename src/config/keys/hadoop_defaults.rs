//! Defaults that stock clients write into every job.xml: those of 1.2.1 `core-default.xml` and `mapred-default.xml` with a value.

/// `name=value` lines, by name.
const DEFAULTS: &str = include_str!("hadoop_defaults.properties");

pub(crate) fn stock_defaults() -> impl Iterator<Item = (&'static str, &'static str)> {
    DEFAULTS.lines().filter_map(|line| line.split_once('='))
}

pub(crate) fn stock_default(name: &str) -> Option<&'static str> {
    stock_defaults().find_map(|(known, value)| (known == name).then_some(value))
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
