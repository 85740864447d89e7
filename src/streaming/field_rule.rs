//! A line of a command's output cut into key and value (1.2.1 `TextOutputReader`, `StreamKeyValUtil`).

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
    #[must_use]
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
