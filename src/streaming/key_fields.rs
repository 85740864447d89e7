//! Which part of a key counts: `-k1,2 -k3.2nr` (1.2.1 `KeyFieldHelper`).

use thiserror::Error;

/// A part of a key from one place to another, and how it is compared. Fields and bytes count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) begin_field: usize,
    pub(crate) begin_byte: usize,
    /// The field it ends in; 0: it goes to the end of the key.
    pub(crate) end_field: usize,
    /// The last byte of that field; 0: to the field's end.
    pub(crate) end_byte: usize,
    pub(crate) is_numeric: bool,
    /// The greater first.
    pub(crate) is_reverse: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFields {
    pub(crate) separator: u8,
    /// In the order in which they count; empty: nothing was said.
    pub(crate) ranges: Vec<KeyRange>,
    /// Whether a range was named: without one the whole key is one field.
    has_fields: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{word:?}: expected -kF[.C][nr][,F[.C][nr]]")]
pub struct BadKeyOption {
    pub(crate) word: String,
}

/// A range in one key: the first byte, and the byte after the last; the end may be before the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeySpan {
    pub(crate) start: usize,
    /// After the last byte.
    pub(crate) end: usize,
}

impl KeyRange {
    /// The whole key, by bytes.
    const WHOLE: KeyRange =
        KeyRange { begin_field: 1, begin_byte: 1, end_field: 0, end_byte: 0, is_numeric: false, is_reverse: false };

    fn parse(text: &str) -> Option<Self> {
        let mut range = KeyRange::WHOLE;
        let (begin, end) = match text.split_once(',') {
            Some((begin, end)) => (begin, Some(end)),
            None => (text, None),
        };
        (range.begin_field, range.begin_byte) = range.place(begin, 1)?;
        if let Some(end) = end {
            (range.end_field, range.end_byte) = range.place(end, 0)?;
        }
        Some(range)
    }

    /// Reads `F[.C][nr]`; the letters go into the range.
    fn place(&mut self, text: &str, default_byte: usize) -> Option<(usize, usize)> {
        let numbers = text.trim_end_matches(['n', 'r']);
        let letters = &text[numbers.len()..];
        self.is_numeric |= letters.contains('n');
        self.is_reverse |= letters.contains('r');
        match numbers.split_once('.') {
            Some((field, byte)) => Some((field.parse().ok()?, byte.parse().ok()?)),
            None => Some((numbers.parse().ok()?, default_byte)),
        }
    }
}

impl KeyFields {
    /// Reads options; empty ones name nothing. Errors: [`BadKeyOption`] with the word that is none.
    pub(crate) fn parse(separator: u8, options: &str) -> Result<Self, BadKeyOption> {
        let mut words = options.split_ascii_whitespace();
        let (mut ranges, mut global) = (Vec::new(), KeyRange::WHOLE);
        while let Some(word) = words.next() {
            match word {
                "-n" => global.is_numeric = true,
                "-r" => global.is_reverse = true,
                "-nr" => (global.is_numeric, global.is_reverse) = (true, true),
                _ => {
                    // Hadoop ignores other words.
                    let Some(joined) = word.strip_prefix("-k") else { continue };
                    let text = if joined.is_empty() { words.next().unwrap_or_default() } else { joined };
                    if !text.is_empty() {
                        let bad = || BadKeyOption { word: format!("-k{text}") };
                        ranges.push(KeyRange::parse(text).ok_or_else(bad)?);
                    }
                }
            }
        }
        let has_fields = !ranges.is_empty();
        for range in &mut ranges {
            if !range.is_numeric && !range.is_reverse {
                (range.is_numeric, range.is_reverse) = (global.is_numeric, global.is_reverse);
            }
        }
        if ranges.is_empty() && !options.is_empty() {
            ranges.push(global);
        }
        Ok(KeyFields { separator, ranges, has_fields })
    }

    /// The first `count` fields as one range; none for 0.
    pub(crate) fn first(separator: u8, count: usize) -> Self {
        let range = KeyRange { end_field: count, ..KeyRange::WHOLE };
        KeyFields { separator, ranges: if count > 0 { vec![range] } else { Vec::new() }, has_fields: count > 0 }
    }

    /// The position of a range in a key; `None` when it begins beyond the key's end.
    pub(crate) fn place(&self, key: &[u8], range: &KeyRange) -> Option<KeySpan> {
        let begin = self.field_start(key, range.begin_field)?;
        // Byte 0 of a field is the byte before it; Hadoop would run out of its array at the key's start.
        let start = (begin + range.begin_byte).saturating_sub(1);
        if begin + range.begin_byte > key.len() {
            return None;
        }
        let end = match self.field_start(key, range.end_field.max(1)) {
            Some(from) if range.end_field > 0 => {
                let last = if range.end_byte == 0 { self.field_length(key, from) } else { range.end_byte };
                (from + last).min(key.len())
            }
            _ => key.len(),
        };
        Some(KeySpan { start, end })
    }

    fn field_start(&self, key: &[u8], field: usize) -> Option<usize> {
        if field <= 1 || !self.has_fields {
            return (field <= 1).then_some(0);
        }
        memchr::memchr_iter(self.separator, key).nth(field - 2).map(|at| at + 1)
    }

    fn field_length(&self, key: &[u8], from: usize) -> usize {
        let rest = &key[from..];
        memchr::memchr(self.separator, rest).unwrap_or(rest.len())
    }
}

impl KeySpan {
    /// The bytes of the range.
    pub(crate) fn of(self, key: &[u8]) -> &[u8] {
        key.get(self.start..self.end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_hadoop_reads_them() {
        let fields = KeyFields::parse(b'\t', "-nr -k1,1 -k 2.3n,4.5r junk").unwrap();
        let range = |begin, end, is_numeric, is_reverse| KeyRange {
            begin_field: begin,
            end_field: end,
            is_numeric,
            is_reverse,
            ..KeyRange::WHOLE
        };
        assert_eq!(fields.ranges[0], range(1, 1, true, true));
        assert_eq!(fields.ranges[1], KeyRange { begin_byte: 3, end_byte: 5, ..range(2, 4, true, true) });
        assert_eq!(KeyFields::parse(b'\t', "-r").unwrap().ranges, [range(1, 0, false, true)]);
        assert_eq!(KeyFields::parse(b'\t', "").unwrap().ranges, []);
        for bad in ["-kx", "-k1,", "-k1x2", "-k,2"] {
            assert!(KeyFields::parse(b'\t', bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ranges_are_clipped_to_the_key() {
        let part = |options: &str, key: &str| {
            let fields = KeyFields::parse(b'\t', options).unwrap();
            let place = fields.place(key.as_bytes(), &fields.ranges[0]);
            place.map(|place| String::from_utf8(place.of(key.as_bytes()).to_vec()).unwrap())
        };
        assert_eq!(part("-k2,2", "a\tbc\td").as_deref(), Some("bc"));
        assert_eq!(part("-k2", "a\tbc\td").as_deref(), Some("bc\td"));
        assert_eq!(part("-k1.2,2.1", "abc\tde").as_deref(), Some("bc\td"));
        assert_eq!(part("-k2,5", "a\tb").as_deref(), Some("b"));
        assert_eq!(part("-k2,2", "a\t\tb").as_deref(), Some(""));
        assert_eq!(part("-k2,1", "a\tb\tc").as_deref(), Some(""));
        assert_eq!(part("-k2", "a"), None);
        assert_eq!(part("-k2", "a\t"), None);
    }
}
