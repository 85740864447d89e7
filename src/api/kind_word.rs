//! Kinds of slots as words in JSON and in texts.

use serde::{Deserialize, Deserializer, Serializer};

use crate::model::Kind;

pub(super) fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "map",
        Kind::Reduce => "reduce",
    }
}

pub(super) fn serialize<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(word(*kind))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "map" => Ok(Kind::Map),
        "reduce" => Ok(Kind::Reduce),
        other => Err(serde::de::Error::custom(format!("{other:?} is not a kind of slots"))),
    }
}
