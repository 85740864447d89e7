//! The tasks of a demo: this program as mapper and reducer of a word count.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

/// Counts the words of `lines`, calls `wait`, and writes each word, a tab and its count.
pub(crate) fn map(mut lines: impl BufRead, mut counts: impl Write, wait: impl FnOnce()) -> io::Result<()> {
    let mut words: BTreeMap<String, u64> = BTreeMap::new();
    let mut line = String::new();
    while {
        line.clear();
        lines.read_line(&mut line)? > 0
    } {
        for word in line.split_whitespace() {
            match words.get_mut(word) {
                Some(count) => *count += 1,
                None => {
                    words.insert(word.to_owned(), 1);
                }
            }
        }
    }
    wait();
    for (word, count) in &words {
        writeln!(counts, "{word}\t{count}")?;
    }
    counts.flush()
}

/// Sums the counts of each word; `lines` are sorted by word. With `miscount` the first sum is one too high.
pub(crate) fn reduce(lines: impl BufRead, mut sums: impl Write, miscount: bool) -> io::Result<()> {
    let mut current: Option<(String, u64)> = None;
    let mut extra = u64::from(miscount);
    let mut write = |word: &str, sum: u64| {
        let sum = sum + std::mem::take(&mut extra);
        writeln!(sums, "{word}\t{sum}")
    };
    for line in lines.lines() {
        let line = line?;
        let wrong =
            || io::Error::new(io::ErrorKind::InvalidData, format!("{line:?}: expected a word, a tab and a count"));
        let (word, count) = line.split_once('\t').ok_or_else(wrong)?;
        let count: u64 = count.parse().map_err(|_| wrong())?;
        match &mut current {
            Some((of, sum)) if of == word => *sum += count,
            _ => {
                if let Some((word, sum)) = current.replace((word.to_owned(), count)) {
                    write(&word, sum)?;
                }
            }
        }
    }
    if let Some((word, sum)) = current {
        write(&word, sum)?;
    }
    sums.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced(lines: &str, miscount: bool) -> io::Result<String> {
        let mut sums = Vec::new();
        reduce(lines.as_bytes(), &mut sums, miscount)?;
        Ok(String::from_utf8(sums).unwrap())
    }

    #[test]
    fn words_are_counted_and_summed_up() {
        let (mut counts, mut has_waited) = (Vec::new(), false);
        map("b a  b\n\nc b".as_bytes(), &mut counts, || has_waited = true).unwrap();
        assert!(has_waited);
        assert_eq!(counts, b"a\t1\nb\t3\nc\t1\n");
        assert_eq!(reduced("a\t1\na\t2\nb\t3\nc\t1\nc\t1\n", false).unwrap(), "a\t3\nb\t3\nc\t2\n");
        assert_eq!(reduced("", false).unwrap(), "");
        assert_eq!(reduced("a\t1\na\t2\nb\t3\n", true).unwrap(), "a\t4\nb\t3\n");
    }

    #[test]
    fn what_no_mapper_wrote_is_refused() {
        assert!(reduced("a\n", false).is_err());
        assert!(reduced("a\tx\n", false).is_err());
    }
}
