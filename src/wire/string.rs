//! The four string encodings of Hadoop 1; the type of a field determines which one applies.

use std::fmt;
use std::ops::Deref;

use super::error::WireErrorKind;
use super::fields::fields;
use super::{Decode, Encode, Reader, WireError, Writer, limits};

/// `vint` byte length, then UTF-8 (Java `Text`). Never null.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Text(pub String);

/// `u16` byte length, then CESU-8 with NUL as a plain zero byte (Java `UTF8`). The IPC layer and old-API splits use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Utf8(pub(crate) String);

/// `i32` byte length, then UTF-8; length -1 is null (`WritableUtils.writeString`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WString(pub Option<String>);

/// `u16` byte length, then modified UTF-8 (`DataOutput.writeUTF`): NUL is `c0 80`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct JavaUtf(pub(crate) String);

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'a> Reader<'a> {
    /// A `Text` field. Malformed UTF-8 becomes U+FFFD, as in 1.2.1 `Text.readString`, so that it fails no heartbeat.
    #[inline]
    pub(crate) fn text(&mut self, what: &'static str) -> Result<Text, WireError> {
        Ok(Text(String::from_utf8_lossy(self.vint_bytes(what)?).into_owned()))
    }

    /// A `Text` field cut to `max_bytes`; the rest is skipped without a copy.
    #[inline]
    pub(crate) fn text_cut(&mut self, max_bytes: usize, what: &'static str) -> Result<Text, WireError> {
        let bytes = self.vint_bytes(what)?;
        if bytes.len() <= max_bytes {
            // A malformed byte may become three.
            let mut text = String::from_utf8_lossy(bytes).into_owned();
            limits::shorten(&mut text, max_bytes);
            return Ok(Text(text));
        }
        let is_inside = |end: usize| bytes.get(end).is_some_and(|byte| byte & 0xc0 == 0x80);
        let end = (max_bytes.saturating_sub(3)..=max_bytes).rev().find(|end| !is_inside(*end)).unwrap_or(max_bytes);
        let mut text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        limits::shorten(&mut text, max_bytes);
        Ok(Text(text))
    }

    /// A `Text` field, refused when it is longer than `max_bytes`.
    pub(crate) fn text_within(&mut self, max_bytes: usize, what: &'static str) -> Result<Text, WireError> {
        let start = self.clone();
        let bytes = self.vint_bytes(what)?;
        start.check_limit(bytes.len(), max_bytes, what)?;
        Ok(Text(String::from_utf8_lossy(bytes).into_owned()))
    }
}

impl Writer<'_> {
    /// A `Text` field.
    #[inline]
    pub(crate) fn text(&mut self, text: &str) {
        self.vint_bytes(text.as_bytes());
    }
}

impl Decode for Text {
    const MIN_BYTES: usize = 1;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        reader.text("text")
    }
}

impl Encode for Text {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.text(self);
    }
}

impl Utf8 {
    /// Longest string that is written whole, in UTF-16 units; longer ones are cut (1.2.1 `UTF8.writeString`).
    pub(crate) const MAX_UNITS: usize = 0xffff / 3;
}

impl<'a> Reader<'a> {
    /// The bytes of a `UTF8` field, for comparison with an ASCII name.
    #[inline]
    pub(crate) fn utf8_bytes(&mut self, what: &'static str) -> Result<&'a [u8], WireError> {
        let length = self.u16(what)?;
        self.take(usize::from(length), what)
    }

    /// A `UTF8` field: one, two or three bytes for a UTF-16 unit, or four for a pair of them.
    pub(crate) fn utf8(&mut self, what: &'static str) -> Result<String, WireError> {
        let start = self.clone();
        decode_java(self.utf8_bytes(what)?).ok_or_else(|| start.error(WireErrorKind::MalformedString, what))
    }
}

impl Writer<'_> {
    /// A `UTF8` field, cut to [`Utf8::MAX_UNITS`] at a character.
    pub(crate) fn utf8(&mut self, text: &str) {
        self.java_string(text, Utf8::MAX_UNITS, false);
    }

    /// A `writeUTF` field, cut like `UTF8`; Java refuses to write what does not fit.
    pub(crate) fn java_utf(&mut self, text: &str) {
        self.java_string(text, Utf8::MAX_UNITS, true);
    }

    /// Three bytes for a UTF-16 unit at most, so `max_units` x 3 must fit the 16 bits of the length.
    fn java_string(&mut self, text: &str, max_units: usize, long_nul: bool) {
        let plain = |byte: &u8| *byte < 0xf0 && (*byte != 0 || !long_nul);
        if text.len() <= max_units && text.bytes().all(|byte| plain(&byte)) {
            self.u16(text.len() as u16);
            self.bytes(text.as_bytes());
            return;
        }
        let mut encoded = Vec::with_capacity(text.len());
        let mut units = 0;
        for character in text.chars() {
            units += character.len_utf16();
            if units > max_units {
                break;
            }
            let mut pair = [0; 2];
            let mut bytes = [0; 4];
            match character {
                '\0' if long_nul => encoded.extend_from_slice(&[0xc0, 0x80]),
                '\u{10000}'.. => {
                    for unit in character.encode_utf16(&mut pair) {
                        encoded.extend_from_slice(&three_bytes(*unit));
                    }
                }
                _ => encoded.extend_from_slice(character.encode_utf8(&mut bytes).as_bytes()),
            }
        }
        self.u16(encoded.len() as u16);
        self.bytes(&encoded);
    }
}

fields! {
    Utf8, 2;
    0: &utf8 "string",
}

fn three_bytes(unit: u16) -> [u8; 3] {
    [0xe0 | (unit >> 12) as u8, 0x80 | (unit >> 6 & 0x3f) as u8, 0x80 | (unit & 0x3f) as u8]
}

/// Both of Java's old encodings: lone surrogates become U+FFFD, `None` for bytes that begin no sequence.
fn decode_java(bytes: &[u8]) -> Option<String> {
    // Valid UTF-8 has neither surrogates nor long forms, so it is the same in all three encodings.
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some(text.to_owned());
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut bytes = bytes.iter().copied();
    while let Some(first) = bytes.next() {
        let mut tail = |value: u32| Some(value << 6 | u32::from(bytes.next()? & 0x3f));
        let lead = u32::from(first);
        let character = match first {
            0x00..=0x7f => lead,
            0xc0..=0xdf => tail(lead & 0x1f)?,
            0xe0..=0xef => tail(lead & 0x0f).and_then(&mut tail)?,
            0xf0..=0xf7 => tail(lead & 0x07).and_then(&mut tail).and_then(&mut tail)?,
            _ => return None,
        };
        match u16::try_from(character) {
            Ok(unit) => units.push(unit),
            Err(_) => units.extend_from_slice(char::from_u32(character)?.encode_utf16(&mut [0; 2])),
        }
    }
    Some(String::from_utf16_lossy(&units))
}

impl Decode for JavaUtf {
    const MIN_BYTES: usize = 2;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        reader.utf8("string").map(Self)
    }
}

impl Encode for JavaUtf {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.java_utf(&self.0);
    }
}

impl Decode for WString {
    const MIN_BYTES: usize = 4;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let length = reader.i32("string length")?;
        if length == -1 {
            return Ok(Self(None));
        }
        let length = reader.length(length, "string length")?;
        let bytes = reader.take(length, "string")?;
        Ok(Self(Some(String::from_utf8_lossy(bytes).into_owned())))
    }
}

impl Encode for WString {
    fn encode(&self, writer: &mut Writer<'_>) {
        match &self.0 {
            None => writer.i32(-1),
            Some(text) => {
                writer.count(text.len());
                writer.bytes(text.as_bytes());
            }
        }
    }
}

impl From<&str> for WString {
    fn from(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

impl From<String> for WString {
    fn from(text: String) -> Self {
        Self(Some(text))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(value: &impl Encode) -> Vec<u8> {
        let mut out = Vec::new();
        value.encode(&mut Writer::new(&mut out));
        out
    }

    fn decoded<T: Decode>(bytes: &[u8]) -> Result<T, WireError> {
        T::decode(&mut Reader::new(bytes))
    }

    #[test]
    fn the_four_encodings_differ_where_java_has_them_differ() {
        let text = "a\0\u{e9}\u{1f600}";
        assert_eq!(encoded(&Text::from(text)), b"\x08a\0\xc3\xa9\xf0\x9f\x98\x80");
        assert_eq!(encoded(&Utf8(text.to_owned())), b"\0\x0aa\0\xc3\xa9\xed\xa0\xbd\xed\xb8\x80");
        assert_eq!(encoded(&JavaUtf(text.to_owned())), b"\0\x0ba\xc0\x80\xc3\xa9\xed\xa0\xbd\xed\xb8\x80");
        assert_eq!(encoded(&WString::from(text)), b"\0\0\0\x08a\0\xc3\xa9\xf0\x9f\x98\x80");
        assert_eq!(encoded(&WString(None)), b"\xff\xff\xff\xff");
    }

    #[test]
    fn odd_bytes_are_decoded_as_by_java() {
        assert_eq!(decoded::<Text>(b"\x02a\xff").unwrap(), "a\u{fffd}".into());
        assert_eq!(decoded::<Utf8>(b"\0\x04\xf0\x9f\x98\x80").unwrap().0, "\u{1f600}");
        assert_eq!(decoded::<Utf8>(b"\0\x03\xed\xa0\xbd").unwrap().0, "\u{fffd}");
        for malformed in [b"\0\x02a\xff", b"\0\x02a\xe0", b"\0\x02a\xc3"] {
            assert_eq!(decoded::<Utf8>(malformed).unwrap_err().kind, WireErrorKind::MalformedString);
        }
        assert!(decoded::<Utf8>(b"\0\x04\xf7\xbf\xbf\xbf").is_err(), "beyond the last character");
        assert_eq!(decoded::<WString>(b"\xff\xff\xff\xfe").unwrap_err().kind, WireErrorKind::NegativeLength(-2));
    }

    #[test]
    fn a_long_string_is_cut_where_java_cuts_it() {
        let written = encoded(&Utf8("x".repeat(30_000)));
        assert_eq!(written.len(), 2 + 21_845);
        let pairs = decoded::<Utf8>(&encoded(&Utf8("\u{1f600}".repeat(30_000)))).unwrap();
        assert_eq!(pairs.0.chars().count(), 10_922, "no half pair at the end");
        assert_eq!(encoded(&Utf8("\u{20ac}".repeat(30_000))).len(), 2 + 65_535);
    }

    proptest! {
        #[test]
        fn a_cut_text_is_the_beginning_of_the_whole(bytes in prop::collection::vec(any::<u8>(), 0..40), most in 0_usize..40) {
            let mut sent = Vec::new();
            Writer::new(&mut sent).vint_bytes(&bytes);
            sent.push(7);
            let mut reader = Reader::new(&sent);
            let cut = reader.text_cut(most, "text").unwrap();
            prop_assert!(cut.len() <= most);
            prop_assert_eq!(reader.left(), 1, "what follows is still there");
            if let Ok(whole) = std::str::from_utf8(&bytes) {
                prop_assert_eq!(&*cut, limits::cut(whole, most));
            }
            let refused = Reader::new(&sent).text_within(most, "text").is_err();
            prop_assert_eq!(refused, bytes.len() > most);
        }

        #[test]
        fn strings_come_back(text in ".{0,40}") {
            prop_assert_eq!(decoded::<Text>(&encoded(&Text(text.clone()))).unwrap().0, text.as_str());
            prop_assert_eq!(decoded::<Utf8>(&encoded(&Utf8(text.clone()))).unwrap().0, text.as_str());
            prop_assert_eq!(decoded::<JavaUtf>(&encoded(&JavaUtf(text.clone()))).unwrap().0, text.as_str());
            prop_assert_eq!(decoded::<WString>(&encoded(&WString(Some(text.clone())))).unwrap().0, Some(text));
        }
    }
}
