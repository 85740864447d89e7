//! What texts about several failures have in common.

/// A text with each number as one `#`: ids, lines and sizes differ among failures of one kind.
pub(super) fn without_numbers(text: &str) -> String {
    let mut common = String::new();
    let mut is_number = false;
    for character in text.chars() {
        let is_digit = character.is_ascii_digit();
        if !(is_digit && is_number) {
            common.push(if is_digit { '#' } else { character });
        }
        is_number = is_digit;
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_make_no_difference() {
        assert_eq!(without_numbers("item 17 of x9y, 2000 bytes"), "item # of x#y, # bytes");
        assert_eq!(without_numbers(""), "");
    }
}
