//! The input text, and how often each word was written into it. Invariant: the same size gives the same text, and its counts come from the
//! writing, not from reading.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::error::DemoError;

/// How often each word occurs.
pub(super) type Counts = BTreeMap<String, u64>;

/// Most different words.
const VOCABULARY: u64 = 2_000;
const LINE_WORDS: u64 = 12;
/// Words between two yields.
const BREAK_WORDS: u64 = LINE_WORDS * 10_000;
/// Files of the text.
const FILES: u64 = 4;
const SYLLABLES: [&str; 20] = [
    "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "we", "xi", "yo",
    "zu",
];

/// A pseudo-random text.
#[derive(Debug)]
pub(super) struct Corpus {
    pub(super) bytes: u64,
    pub(super) words: u64,
    pub(super) counts: Counts,
}

/// The generator `SplitMix64`.
struct Chance(u64);

impl Corpus {
    /// Writes a text of at least `bytes` bytes into a new folder. It can be cancelled.
    pub(super) async fn write(folder: &Path, bytes: u64) -> Result<Self, DemoError> {
        std::fs::create_dir_all(folder).map_err(DemoError::file("make", folder))?;
        let vocabulary: Vec<String> = (0..VOCABULARY).map(word).collect();
        let mut occurrences = vec![0_u64; vocabulary.len()];
        let (mut chance, mut written, mut words) = (Chance(1), 0, 0);
        for number in 0..FILES {
            let path = folder.join(format!("text-{number}"));
            let file = File::create(&path).map_err(DemoError::file("write", &path))?;
            let mut file = BufWriter::new(file);
            while written < bytes * (number + 1) / FILES {
                written += line(&mut file, &vocabulary, &mut occurrences, &mut chance)
                    .map_err(DemoError::file("write", &path))?;
                words += LINE_WORDS;
                if words % BREAK_WORDS == 0 {
                    tokio::task::yield_now().await;
                }
            }
            file.flush().map_err(DemoError::file("write", &path))?;
        }
        let counts = vocabulary.into_iter().zip(occurrences).filter(|(_, count)| *count > 0).collect();
        Ok(Self { bytes: written, words, counts })
    }
}

impl fmt::Display for Corpus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, words, counts } = self;
        let (whole, tenth) = (bytes / 1_000_000, bytes / 100_000 % 10);
        write!(formatter, "{whole}.{tenth} MB in {FILES} files; {words} words, {} different ones", counts.len())
    }
}

/// Writes a line; returns its length, bytes.
fn line(file: &mut impl Write, vocabulary: &[String], occurrences: &mut [u64], chance: &mut Chance) -> io::Result<u64> {
    let mut bytes = 0;
    for position in 1..=LINE_WORDS {
        let index = chance.index();
        let word = &vocabulary[index];
        file.write_all(word.as_bytes())?;
        file.write_all(if position == LINE_WORDS { b"\n" } else { b" " })?;
        bytes += word.len() as u64 + 1;
        occurrences[index] += 1;
    }
    Ok(bytes)
}

/// The word of a number, different for each.
fn word(number: u64) -> String {
    let base = SYLLABLES.len() as u64;
    let (mut rest, mut word) = (number, String::new());
    loop {
        word += SYLLABLES[(rest % base) as usize];
        rest /= base;
        if rest == 0 {
            return word;
        }
    }
}

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// An index into the vocabulary; low ones are more frequent, as some words are in any language.
    fn index(&mut self) -> usize {
        let most = self.next() % VOCABULARY + 1;
        (self.next() % most) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn counts_match_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let corpus = Corpus::write(folder.path(), 100_000).await.unwrap();
        let mut counts = Counts::new();
        let mut bytes = 0;
        for number in 0..FILES {
            let text = std::fs::read_to_string(folder.path().join(format!("text-{number}"))).unwrap();
            assert!(text.len() > 20_000 && text.ends_with('\n'), "{}", text.len());
            bytes += text.len() as u64;
            text.split_whitespace().for_each(|word| *counts.entry(word.to_owned()).or_default() += 1);
        }
        assert_eq!((bytes, counts.values().sum::<u64>()), (corpus.bytes, corpus.words));
        assert_eq!(counts, corpus.counts);
        assert!(counts["ba"] > counts.values().sum::<u64>() / counts.len() as u64, "some words are more frequent");
        insta::assert_snapshot!(corpus, @"0.1 MB in 4 files; 17148 words, 1805 different ones");
    }

    #[test]
    fn every_number_has_a_word_of_its_own() {
        let words: std::collections::BTreeSet<String> = (0..VOCABULARY).map(word).collect();
        assert_eq!(words.len() as u64, VOCABULARY);
    }
}
