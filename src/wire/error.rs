//! What can be wrong with bytes.

use super::limits;

/// Bytes that are not what they should be: which field, where, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset}: {kind}")]
pub struct WireError {
    /// What is wrong.
    pub kind: WireErrorKind,
    /// Where the field begins, in bytes from the start of the frame or file.
    pub offset: usize,
    /// The field that was being read.
    pub what: &'static str,
}

impl WireError {
    /// Whether it is about a limit, not about bytes that mean nothing.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        matches!(self.kind, WireErrorKind::TooLong { .. })
    }
}

/// The ways in which bytes can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireErrorKind {
    /// The bytes end too early, also for what a length or count promises.
    #[error("{needed} bytes are needed, {left} are left")]
    Truncated {
        /// Bytes the field needs at least.
        needed: usize,
        /// Bytes that are there.
        left: usize,
    },
    /// A length or count below zero.
    #[error("a length of {0} is below zero")]
    NegativeLength(i64),
    /// A length above what is accepted.
    #[error("{length} is more than the limit of {limit}")]
    TooLong {
        /// What was announced.
        length: u64,
        /// What is accepted.
        limit: u64,
    },
    /// A name that none of the constants has.
    #[error("`{0}` is none of its names")]
    UnknownName(String),
    /// A number that stands for nothing.
    #[error("{0} stands for nothing")]
    UnknownNumber(i64),
    /// An id no JobTracker of this kind gives: a negative number, or an identifier that is not 1 to 19 digits.
    #[error("an id that is not made of digits")]
    ForeignId,
    /// A class that this protocol family does not have.
    #[error("class `{0}` is not known")]
    UnknownClass(String),
    /// A known class where another belongs.
    #[error("class `{found}` instead of `{expected}`")]
    UnexpectedClass {
        /// What was sent.
        found: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// Null where a value belongs.
    #[error("null")]
    Null,
    /// A malformed string in one of Java's own encodings.
    #[error("a byte sequence that encodes no character")]
    MalformedString,
    /// A file that does not begin as its kind begins.
    #[error("does not begin with {0}")]
    BadMagic(&'static str),
    /// A version of a file that is not understood.
    #[error("version {found} is not {expected}")]
    BadVersion {
        /// What was sent.
        found: i64,
        /// What is understood.
        expected: i64,
    },
}

/// What is shown of foreign bytes in an error: enough to recognise them, not enough to flood a log.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    // No character is longer than four bytes.
    let head = bytes.get(..5 * 64).unwrap_or(bytes);
    limits::excerpt(&String::from_utf8_lossy(head))
}
