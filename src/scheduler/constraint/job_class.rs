//! Jobs that cost the same.

use crate::model::PerKind;

/// Longest name of any part of a class, bytes.
const MAX_BYTES: usize = 256;

/// Jobs that are expected to cost the same: those of a user that have the same name, but for digits, and the same code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobClass {
    pub(crate) user: String,
    /// Their name without digits.
    pub(crate) name: String,
    /// The class that maps, or empty.
    pub(crate) mapper: String,
    /// The class that reduces, or empty.
    pub(crate) reducer: String,
}

impl JobClass {
    /// The class of a job with that name and those classes of code. Long texts are cut.
    pub(crate) fn new(user: &str, name: &str, code: &PerKind<Option<String>>) -> Self {
        let named = |text: &Option<String>| cut(text.as_deref().unwrap_or_default());
        let digitless: String = name.chars().filter(|character| !character.is_ascii_digit()).collect();
        Self { user: user.to_owned(), name: cut(&digitless), mapper: named(&code.map), reducer: named(&code.reduce) }
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_BYTES)].to_owned()
}
