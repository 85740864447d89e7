//! Where a value stands in a body, a JSON Pointer (RFC 6901) printed as a URI fragment, and what is wrong there.

use std::cell::RefCell;
use std::fmt;
use std::fmt::Display;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::engine::BodyFault;

/// What a fragment cannot hold as it is (RFC 3986, section 3.5).
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A place in a body; a place below another one refers to it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    Body,
    /// A member of the object there.
    Member(&'a Place<'a>, &'a str),
    /// An item of the array there, from 0.
    Index(&'a Place<'a>, usize),
}

/// As a URI fragment: `#/ask/2/capability/memory`.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body => f.write_str("#"),
            Self::Index(parent, index) => write!(f, "{parent}/{index}"),
            Self::Member(parent, name) => {
                let name = name.replace('~', "~0").replace('/', "~1");
                write!(f, "{parent}/{}", utf8_percent_encode(&name, ESCAPED))
            }
        }
    }
}

/// Findings beyond these are not kept.
pub(crate) const MAX_FINDINGS: usize = 20;

#[derive(Debug, Default)]
pub(crate) struct Findings(RefCell<Vec<BodyFault>>);

impl Findings {
    /// Notes a finding. Returns none, which is what a reader gives for a value that is wrong.
    pub(crate) fn add<T>(&self, place: &Place<'_>, detail: impl Display) -> Option<T> {
        let mut found = self.0.borrow_mut();
        if found.len() < MAX_FINDINGS {
            found.push(BodyFault { pointer: place.to_string(), detail: detail.to_string() });
        }
        None
    }

    /// All of them, at most [`MAX_FINDINGS`], in the order in which they were found.
    pub(crate) fn into_vec(self) -> Vec<BodyFault> {
        self.0.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The members of the RFC's example, section 6, and one beyond ASCII.
    #[test]
    fn pointers_are_the_rfcs() {
        assert_eq!(Place::Body.to_string(), "#");
        let foo = Place::Member(&Place::Body, "foo");
        assert_eq!(Place::Index(&foo, 0).to_string(), "#/foo/0");
        for (name, pointer) in [
            ("", "#/"),
            ("a/b", "#/a~1b"),
            ("c%d", "#/c%25d"),
            ("e^f", "#/e%5Ef"),
            ("g|h", "#/g%7Ch"),
            ("i\\j", "#/i%5Cj"),
            ("k\"l", "#/k%22l"),
            (" ", "#/%20"),
            ("m~n", "#/m~0n"),
            ("ä", "#/%C3%A4"),
        ] {
            assert_eq!(Place::Member(&Place::Body, name).to_string(), pointer, "{name:?}");
        }
    }
}
