//! The four string encodings that Hadoop 1 mixes; which one applies is a property of the field, so of its type.

use std::fmt;
use std::ops::Deref;

/// `vint` byte length, then UTF-8 (Java `Text`). Never null.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Text(pub String);

/// `u16` byte length, then CESU-8 with NUL as a plain zero byte (Java `UTF8`). The IPC layer and old-API splits use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Utf8(pub String);

/// `i32` byte length, then UTF-8; length -1 is null (`WritableUtils.writeString`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WString(pub Option<String>);

/// `u16` byte length, then modified UTF-8 (`DataOutput.writeUTF`): NUL is `c0 80`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JavaUtf(pub String);

// === impl Text ===

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

// === impl WString ===

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
