//! The known key that a mistyped one probably means.

use crate::client::job::is_hadoop_key;
use crate::config::keys;
use crate::config::keys::Key;

/// Keys of 1.2.1 whose names are close to known keys, but which are no mistakes.
const LEGITIMATE: [&str; 2] = ["mapred.queue.name", "mapred.task.maxpmem"];

/// Whether Hadoop has a key of this name, whatever reads it.
pub(super) fn is_legitimate(name: &str) -> bool {
    LEGITIMATE.contains(&name) || is_hadoop_key(name)
}

/// The known key with the most similar name, at most `most` edits away.
pub(super) fn nearest_key(name: &str, most: usize) -> Option<String> {
    let spellings = keys::all().flat_map(Key::spellings).filter(|spelling| spelling.len().abs_diff(name.len()) <= most);
    let found = spellings.map(|spelling| (distance(name, spelling), spelling)).min()?;
    (found.0 <= most).then(|| found.1.to_owned())
}

/// Levenshtein distance.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        for (b, cell) in right.bytes().zip(row.iter_mut().skip(1)) {
            let changed = diagonal + usize::from(a != b);
            diagonal = *cell;
            before = changed.min(before + 1).min(*cell + 1);
            *cell = before;
        }
        row[0] = i + 1;
    }
    row.last().copied().unwrap_or(left.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        assert_eq!(
            [("", "abc"), ("abc", ""), ("kitten", "sitting"), ("same", "same")].map(|(a, b)| distance(a, b)),
            [3, 3, 3, 0]
        );
    }

    #[test]
    fn a_mistyped_key_is_near_the_right_one() {
        assert_eq!(nearest_key("mapred.reduce.taks", 2).as_deref(), Some("mapred.reduce.tasks"));
        assert_eq!(nearest_key("com.example.key", 2), None);
    }
}
