//! Numbers of things as people read them.

/// So many of something: `1 job`, `2 jobs`; a noun whose plural ends in an s.
pub(crate) fn counted(number: impl TryInto<u128>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u128::MAX);
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_all_others_are_plural() {
        let texts = [0_u32, 1, 2].map(|number| counted(number, "map slot"));
        assert_eq!(texts, ["0 map slots", "1 map slot", "2 map slots"]);
        assert_eq!(counted(1_usize, "queue"), "1 queue");
    }
}
