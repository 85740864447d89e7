//! The umask of a client: a NameNode stores the permission that it is sent.

/// Reads `dfs.umaskmode`: three octal digits of what is taken away, or what is left, as `u=rwx,g=rx,o=` (1.2.1 `UmaskParser`).
pub(super) fn parse_umask(text: &str) -> Option<u16> {
    let text = text.trim();
    if text.len() == 3 && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte)) {
        return u16::from_str_radix(text, 8).ok();
    }
    let mut allowed = 0;
    for clause in text.split(',') {
        let clause = clause.trim();
        let operator = clause.find(['+', '=', '-'])?;
        let (classes, rest) = clause.split_at(operator);
        let bits = rest.trim_start_matches(['+', '=', '-']);
        // The last of several operators counts.
        let is_taken = rest[..rest.len() - bits.len()].ends_with('-');
        let mut shifts = Vec::new();
        for class in classes.chars() {
            match class {
                'u' => shifts.push(6),
                'g' => shifts.push(3),
                'o' => shifts.push(0),
                'a' => {}
                _ => return None,
            }
        }
        if shifts.is_empty() {
            shifts = vec![6, 3, 0];
        }
        let mut mode = 0;
        for bit in bits.chars() {
            mode |= match bit {
                'r' => 4,
                'w' => 2,
                'x' => 1,
                _ => return None,
            };
        }
        for shift in shifts {
            // Each class begins without permissions, so there is nothing to take away; a later clause replaces an earlier one.
            allowed &= !(7 << shift);
            allowed |= if is_taken { 0 } else { mode << shift };
        }
    }
    Some(!allowed & 0o777)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octal_digits_take_away_and_letters_allow() {
        for (text, umask) in [
            ("022", 0o022),
            (" 077 ", 0o077),
            ("u=rwx,g=rx,o=rx", 0o022),
            ("u=rwx,g=,o=", 0o077),
            ("a=rwx", 0),
            ("=rx", 0o222),
            ("ug+rw, o-w", 0o117),
            ("u=rwx,u=r", 0o377),
        ] {
            assert_eq!(parse_umask(text), Some(umask), "{text}");
        }
        for text in ["", "0022", "22", "088", "rwx", "u=rwX", "z=r", "u=r g=r", "-1"] {
            assert_eq!(parse_umask(text), None, "{text}");
        }
    }
}
