//! A JSON text as it was written: with members that are there twice, and numbers in their form.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value of a JSON text. Values nest at most 127 deep, the limit of the parser.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum JsonValue {
    /// `null`
    Null,
    /// `true`, `false`
    Boolean(bool),
    /// A number without sign, fraction or exponent, up to 2^64-1.
    Whole(u64),
    /// A number with a sign, without fraction or exponent, from -2^63.
    Negative(i64),
    /// Any other number.
    Number(f64),
    Text(String),
    /// `[…]`
    Array(Vec<JsonValue>),
    /// `{…}`, in the order of the text, repeated members too.
    Object(Vec<(String, JsonValue)>),
}

struct AnyValue;

impl JsonValue {
    /// Reads a text.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }
}

/// As a finding shows it: numbers and words as they are, others by their kind.
impl fmt::Display for JsonValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Negative(number) => write!(f, "{number}"),
            Self::Number(number) => write!(f, "{number:?}"),
            Self::Text(_) => f.write_str("a text"),
            Self::Array(_) => f.write_str("an array"),
            Self::Object(_) => f.write_str("an object"),
        }
    }
}

impl<'de> Deserialize<'de> for JsonValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = JsonValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<JsonValue, E> {
        Ok(JsonValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<JsonValue, E> {
        Ok(JsonValue::Boolean(value))
    }

    fn visit_u64<E>(self, number: u64) -> Result<JsonValue, E> {
        Ok(JsonValue::Whole(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<JsonValue, E> {
        Ok(JsonValue::Negative(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<JsonValue, E> {
        Ok(JsonValue::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonValue, E> {
        Ok(JsonValue::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<JsonValue, E> {
        Ok(JsonValue::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<JsonValue, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(JsonValue::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<JsonValue, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(JsonValue::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_members_and_forms_of_numbers_are_kept() {
        let read = JsonValue::read(br#"{"a": 1, "a": 1.0, "b": [-1, 1e3, 18446744073709551616, null]}"#).unwrap();
        let numbers = vec![
            JsonValue::Negative(-1),
            JsonValue::Number(1_000.0),
            JsonValue::Number(18_446_744_073_709_551_616.0),
            JsonValue::Null,
        ];
        let members = [("a", JsonValue::Whole(1)), ("a", JsonValue::Number(1.0)), ("b", JsonValue::Array(numbers))];
        assert_eq!(read, JsonValue::Object(members.map(|(name, value)| (name.to_owned(), value)).into()));
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for text in ["", "{", "{} {}", "{'a': 1}", "[01]", "[NaN]", "\u{feff}{}", "[\"\\ud800\"]", "[1,]"] {
            assert!(JsonValue::read(text.as_bytes()).unwrap_err().contains("line 1 column"), "{text}");
        }
        assert!(JsonValue::read(b"[\"\xff\"]").is_err());
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(JsonValue::read(deep.as_bytes()).unwrap_err().contains("recursion limit"));
    }
}
