//! Recorded answers of an original scheduler.
//!
//! A file has one line a script: seed, digest of the script, answers, apart by blanks; `-7` stands for seven empty ones.
//! Lines that begin with `#` say where they come from.

use anyhow::{Context, bail};

/// What an original answered to a script, call by call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The seed of the script.
    pub seed: u64,
    /// Its digest.
    pub digest: u64,
    /// The answers, as texts.
    pub answers: Vec<String>,
}

// === impl Recording ===

impl Recording {
    /// The recordings of a file.
    pub fn read_all(text: &str) -> anyhow::Result<Vec<Self>> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
        lines.map(|(place, line)| Self::read(line).with_context(|| format!("line {}", place + 1))).collect()
    }

    fn read(line: &str) -> anyhow::Result<Self> {
        let mut words = line.split(' ');
        let (Some(seed), Some(digest)) = (words.next(), words.next()) else { bail!("no seed and digest: {line}") };
        let seed = seed.parse().with_context(|| format!("no seed: {seed}"))?;
        let digest = u64::from_str_radix(digest, 16).with_context(|| format!("no digest: {digest}"))?;
        let mut answers = Vec::new();
        for word in words {
            match word.strip_prefix('-') {
                None if word.is_empty() => bail!("an answer without text"),
                None => answers.push(word.to_owned()),
                Some("") => answers.push("-".to_owned()),
                Some(count) => {
                    let count = count.parse().with_context(|| format!("no number of empty answers: {word}"))?;
                    answers.extend(std::iter::repeat_n("-".to_owned(), count));
                }
            }
        }
        Ok(Self { seed, digest, answers })
    }

    /// The line of the recording.
    pub fn line(&self) -> String {
        let mut line = format!("{} {:016x}", self.seed, self.digest);
        for run in self.answers.chunk_by(|one, next| one == "-" && next == "-") {
            let word = if run.len() > 1 { format!("-{}", run.len()) } else { run[0].clone() };
            line.push(' ');
            line.push_str(&word);
        }
        line
    }
}
