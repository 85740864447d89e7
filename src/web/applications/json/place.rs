//! Where a value stands in a body: a JSON Pointer (RFC 6901), printed as a URI fragment.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

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
    /// The whole body.
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
