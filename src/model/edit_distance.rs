//! How far names are from each other, to find the one that a mistyped one means.

/// Levenshtein distance, if it is at most `most`.
#[must_use]
pub(crate) fn edit_distance(left: &str, right: &str, most: usize) -> Option<usize> {
    if left.len().abs_diff(right.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        let mut least = before;
        for (b, cell) in right.bytes().zip(row.iter_mut().skip(1)) {
            let changed = diagonal + usize::from(a != b);
            diagonal = *cell;
            before = changed.min(before + 1).min(*cell + 1);
            *cell = before;
            least = least.min(before);
        }
        row[0] = i + 1;
        if least > most {
            return None;
        }
    }
    row.last().copied().filter(|edits| *edits <= most)
}

/// The word most similar to `word`, whatever the case of its letters; none is further away than a third of its letters, or 3.
pub(crate) fn nearest<'a>(word: &str, among: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (word.len() / 3).max(3);
    let lower = word.to_ascii_lowercase();
    let near = |known: &'a str| Some((edit_distance(&lower, &known.to_ascii_lowercase(), most)?, known));
    // Of short words every one is near.
    let is_like = |(edits, known): &(usize, &str)| *edits < known.len().max(1).min(word.len());
    among.into_iter().filter_map(near).filter(is_like).min().map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        let words = [("", "abc"), ("abc", ""), ("kitten", "sitting"), ("same", "same")];
        assert_eq!(words.map(|(a, b)| edit_distance(a, b, 9)), [Some(3), Some(3), Some(3), Some(0)]);
        assert_eq!(words.map(|(a, b)| edit_distance(a, b, 2)), [None, None, None, Some(0)]);
    }

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not() {
        let known = ["maxMaps", "maxRunningJobs", "weight"];
        for (word, found) in [
            ("maxRunningJob", Some("maxRunningJobs")),
            ("MAXMAPS", Some("maxMaps")),
            ("maxRunningApps", Some("maxRunningJobs")),
            ("wait", Some("weight")),
            ("schedulingPolicy", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), found, "{word}");
        }
    }
}
