//! Text that comes in parts: a character is shown once all of it is there.

/// The bytes without an incomplete character at their end, which its rest will follow.
pub(super) fn whole_characters(part: &[u8]) -> &[u8] {
    match std::str::from_utf8(part.get(part.len().saturating_sub(4)..).unwrap_or(part)) {
        Ok(_) => part,
        // From the middle of a character on, the bytes are no text for another reason than their end.
        Err(_) => {
            let is_start = |byte: &u8| *byte >= 0xc0;
            let last = part.iter().rev().take(4).position(is_start).map(|back| part.len() - 1 - back);
            let is_cut =
                |at: &usize| matches!(std::str::from_utf8(&part[*at..]), Err(error) if error.error_len().is_none());
            last.filter(is_cut).map_or(part, |at| &part[..at])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_printed_once_it_is_whole() {
        let text = "größe 大小".as_bytes();
        for end in 0..=text.len() {
            let whole = whole_characters(&text[..end]);
            assert!(std::str::from_utf8(whole).is_ok() && end - whole.len() < 4, "{end}");
        }
        for no_text in [&b"ab\xff"[..], b"\xffab", b"a\xf0\x28\x8c", b"", b"\x80\x80\x80\x80\x80"] {
            assert_eq!(whole_characters(no_text), no_text, "bytes that are no text do not wait");
        }
    }
}
