//! Decoding errors.

use super::limits;

/// A decoding error: which field, where, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset}: {kind}")]
pub struct WireError {
    pub(crate) kind: WireErrorKind,
    /// Start of the field, bytes from the start of the frame or file.
    pub(crate) offset: usize,
    /// The field that was being read.
    pub(crate) what: &'static str,
}

impl WireError {
    /// Whether a limit was exceeded, as opposed to malformed bytes.
    pub(crate) fn is_too_long(&self) -> bool {
        matches!(self.kind, WireErrorKind::TooLong { .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireErrorKind {
    /// The bytes end too early, or cannot hold what a length or count promises.
    #[error("{needed} bytes are needed, {left} are left")]
    Truncated {
        /// Fewest bytes of the field.
        needed: usize,
        /// Bytes left.
        left: usize,
    },
    /// A length or count below zero.
    #[error("a length of {0} is below zero")]
    NegativeLength(i64),
    /// A length above its limit.
    #[error("{length} is more than the limit of {limit}")]
    TooLong {
        /// The announced length.
        length: u64,
        /// The limit.
        limit: u64,
    },
    /// A name of no constant.
    #[error("unknown name `{0}`")]
    UnknownName(String),
    /// A number of no constant.
    #[error("unknown number {0}")]
    UnknownNumber(i64),
    /// A number that does not fit what was sent before.
    #[error("{found} is not {expected}")]
    WrongNumber {
        /// The number sent.
        found: i64,
        /// The number expected.
        expected: i64,
    },
    /// An id that this JobTracker cannot have assigned: a negative number, or an identifier that is not 1 to 19 digits.
    #[error("an id of another form than this JobTracker assigns")]
    ForeignId,
    /// A class that the protocols here do not have.
    #[error("class `{0}` is not known")]
    UnknownClass(String),
    /// A known class where another is expected.
    #[error("class `{found}` instead of `{expected}`")]
    UnexpectedClass {
        /// The class sent.
        found: String,
        /// The class expected.
        expected: &'static str,
    },
    /// Null where a value is required.
    #[error("null")]
    Null,
    /// A malformed string in one of Java's own encodings.
    #[error("a byte sequence that encodes no character")]
    MalformedString,
    /// A file without the magic of its kind.
    #[error("does not begin with {0}")]
    BadMagic(&'static str),
    /// An unsupported version of a file.
    #[error("version {found} is not {expected}")]
    BadVersion {
        /// The version found.
        found: i64,
        /// The version supported.
        expected: i64,
    },
}

/// An excerpt of received bytes for an error: enough to recognise them, too little to flood a log.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    // No character is longer than four bytes.
    let head = bytes.get(..5 * 64).unwrap_or(bytes);
    limits::excerpt(&String::from_utf8_lossy(head))
}
