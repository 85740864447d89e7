//! The result of a demo: compares the counted words with the written ones, and collects the errors of the bills.

use std::fs;
use std::path::Path;

use super::bill::Bill;
use super::corpus::{Corpus, Counts};
use super::error::DemoError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DemoReport {
    pub(super) text: String,
    pub(super) is_right: bool,
}

/// Most wrong words that are listed.
const MOST_LISTED: usize = 5;

impl DemoReport {
    /// From the bills and the counts of each user's job.
    pub(super) fn of(corpus: &Corpus, counted: &[(&str, Counts)], bills: &[Bill]) -> Self {
        let mut text = "\nThe bill".to_owned();
        let mut wrong = Vec::new();
        for bill in bills {
            text += &format!("\n{}", bill.text);
            wrong.extend(bill.wrong.iter().cloned());
        }
        if wrong.is_empty() {
            text += "\nEvery charge is rate x slot-seconds / interval, and what is left is what was\nthere less the charges, to the last digit.";
        }
        let miscounted: Vec<_> =
            counted.iter().flat_map(|(user, counts)| differences(user, &corpus.counts, counts)).collect();
        if miscounted.is_empty() {
            text += &format!(
                "\nBoth jobs have counted {} words, each of {} as often as it was written.",
                corpus.words,
                corpus.counts.len()
            );
        }
        wrong.extend(miscounted);
        for line in &wrong {
            text += &format!("\nWRONG: {line}");
        }
        Self { text, is_right: wrong.is_empty() }
    }
}

fn differences(user: &str, written: &Counts, counted: &Counts) -> Vec<String> {
    let of = |counts: &Counts, word: &str| counts.get(word).copied().unwrap_or(0);
    let words: std::collections::BTreeSet<&String> = written.keys().chain(counted.keys()).collect();
    let differing: Vec<_> =
        words.into_iter().filter(|word| of(written, word.as_str()) != of(counted, word.as_str())).collect();
    let listed = differing.iter().take(MOST_LISTED).map(|word| {
        let (written, counted) = (of(written, word.as_str()), of(counted, word.as_str()));
        format!("{user}'s job has counted {word} {counted} times, it was written {written} times")
    });
    let more = differing.len().checked_sub(MOST_LISTED).filter(|more| *more > 0);
    listed.chain(more.map(|more| format!("{user}'s job has counted {more} more words wrong"))).collect()
}

/// Reads the counts in a job's output. An invalid line counts as a word that was not written.
pub(super) fn read_counts(output: &Path) -> Result<Counts, DemoError> {
    let mut counts = Counts::new();
    for entry in fs::read_dir(output).map_err(DemoError::file("read", output))? {
        let path = entry.map_err(DemoError::file("read", output))?.path();
        if !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("part-")) {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(DemoError::file("read", &path))?;
        for line in text.lines() {
            let count = line.split_once('\t').and_then(|(word, count)| Some((word, count.parse::<u64>().ok()?)));
            let (word, count) = count.unwrap_or((line, 1));
            // A word on two lines is counted twice.
            *counts.entry(word.to_owned()).or_default() += count;
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, u64)]) -> Counts {
        pairs.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect()
    }

    fn bill(wrong: &[&str]) -> Bill {
        Bill { text: "alice: 1 credit".to_owned(), wrong: wrong.iter().map(|text| (*text).to_owned()).collect() }
    }

    #[test]
    fn all_is_right_only_if_counts_and_bill_are() {
        let corpus = Corpus { bytes: 0, words: 7, counts: counts(&[("a", 4), ("b", 3)]) };
        let right = corpus.counts.clone();
        let report = DemoReport::of(&corpus, &[("alice", right.clone())], &[bill(&[])]);
        assert!(report.is_right);
        insta::assert_snapshot!(report.text, @"
        The bill
        alice: 1 credit
        Every charge is rate x slot-seconds / interval, and what is left is what was
        there less the charges, to the last digit.
        Both jobs have counted 7 words, each of 2 as often as it was written.
        ");
        let report = DemoReport::of(&corpus, &[("alice", right.clone())], &[bill(&["alice, tick 3: charged 2"])]);
        assert!(!report.is_right);
        insta::assert_snapshot!(report.text, @"
        The bill
        alice: 1 credit
        Both jobs have counted 7 words, each of 2 as often as it was written.
        WRONG: alice, tick 3: charged 2
        ");
        let report = DemoReport::of(&corpus, &[("alice", right), ("bob", counts(&[("a", 5), ("c", 3)]))], &[bill(&[])]);
        assert!(!report.is_right);
        insta::assert_snapshot!(report.text, @"
        The bill
        alice: 1 credit
        Every charge is rate x slot-seconds / interval, and what is left is what was
        there less the charges, to the last digit.
        WRONG: bob's job has counted a 5 times, it was written 4 times
        WRONG: bob's job has counted b 0 times, it was written 3 times
        WRONG: bob's job has counted c 3 times, it was written 0 times
        ");
    }

    #[test]
    fn many_differences_are_listed_in_few_lines() {
        let written = counts(&[("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1), ("f", 1), ("g", 1)]);
        let listed = differences("bob", &written, &Counts::new());
        assert_eq!(listed.len(), MOST_LISTED + 1);
        assert_eq!(listed[MOST_LISTED], "bob's job has counted 2 more words wrong");
    }

    #[test]
    fn an_output_is_all_its_parts() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("part-00000", "a\t3\nb\t1\n"), ("part-00001", "a\t1\nnonsense\n"), ("_SUCCESS", "x\t1\n")]
        {
            fs::write(folder.path().join(name), text).unwrap();
        }
        assert_eq!(read_counts(folder.path()).unwrap(), counts(&[("a", 4), ("b", 1), ("nonsense", 1)]));
        assert!(read_counts(&folder.path().join("none")).is_err());
    }
}
