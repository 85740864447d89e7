//! Texts of others in lines of ours.

/// A text of somebody else's, with whatever could end its line or move the cursor escaped.
pub(super) fn one_line(text: &str) -> String {
    let escaped = |character: char| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    text.chars().map(escaped).collect()
}
