//! Puts the item of a container in place of the placeholder of its context: the item's number, or its line of a local resource.

use std::collections::BTreeMap;

use crate::model::{LaunchContext, OutputPlace};

/// Puts the value in place of the placeholder in the command, the environment's values, the working directory and the places of
/// output. Without a placeholder nothing changes.
pub(crate) fn put_in(context: &mut LaunchContext, value: &str) {
    let Some(placeholder) = context.placeholder.clone().filter(|text| !text.is_empty()) else { return };
    let put = |text: &mut String| {
        if text.contains(&placeholder) {
            *text = text.replace(&placeholder, value);
        }
    };
    context.command.iter_mut().for_each(put);
    let variables: &mut BTreeMap<String, String> = &mut context.environment;
    variables.values_mut().for_each(put);
    context.working_directory.iter_mut().for_each(put);
    for place in [&mut context.stdout, &mut context.stderr] {
        if let OutputPlace::File(path) = place {
            put(path);
        }
    }
}

/// Reads the line of a number, from 1, while the content comes in pieces.
#[derive(Debug)]
pub(crate) struct LineFinder {
    wanted: u32,
    /// Of the line that is being read, from 1.
    number: u32,
    line: Vec<u8>,
    /// The last piece ended within a line.
    is_open: bool,
}

/// Longest line that is an item's value, bytes: all of a command has no more.
const MAX_LINE_BYTES: usize = 64 << 10;

impl LineFinder {
    /// For the line of that number.
    pub(crate) fn new(wanted: u32) -> Self {
        Self { wanted, number: 1, line: Vec::new(), is_open: false }
    }

    pub(crate) fn take(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            if self.number == self.wanted {
                // One byte more than the limit is enough to see that it is too long.
                let room = (MAX_LINE_BYTES + 1).saturating_sub(self.line.len());
                self.line.extend_from_slice(&text[..text.len().min(room)]);
            }
            self.is_open = !ends;
            if ends {
                self.number = self.number.saturating_add(1);
            }
        }
    }

    /// The line without its end, after the last piece.
    pub(crate) fn finish(mut self) -> Result<String, String> {
        let lines = if self.is_open { self.number } else { self.number - 1 };
        if self.wanted == 0 || self.wanted > lines {
            return Err(format!("there are lines 1 to {lines}"));
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        if self.line.len() > MAX_LINE_BYTES {
            return Err(format!("its line is longer than {MAX_LINE_BYTES} bytes"));
        }
        String::from_utf8(self.line).map_err(|_| "its line is no UTF-8".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u32, pieces: &[&str]) -> Result<String, String> {
        let mut finder = LineFinder::new(number);
        pieces.iter().for_each(|piece| finder.take(piece.as_bytes()));
        finder.finish()
    }

    #[test]
    fn lines_are_numbered_from_one_and_the_last_needs_no_end() {
        assert_eq!(line(1, &["a\nb"]).unwrap(), "a");
        assert_eq!(line(2, &["a\r\nb", "c\r", "\n"]).unwrap(), "bc");
        assert_eq!(line(2, &["a\n", "b"]).unwrap(), "b");
        assert_eq!(line(2, &["a\n\n"]).unwrap(), "");
        assert_eq!(line(3, &["a\nb\n"]).unwrap_err(), "there are lines 1 to 2");
        assert_eq!(line(0, &["a"]).unwrap_err(), "there are lines 1 to 1");
        assert_eq!(line(1, &[]).unwrap_err(), "there are lines 1 to 0");
        assert!(line(1, &[&"x".repeat(MAX_LINE_BYTES + 1)]).unwrap_err().contains("longer"));
    }

    #[test]
    fn a_value_stands_wherever_the_placeholder_stood() {
        let words = ["./simulate", "--seed={}", "{}{}"].map(str::to_owned);
        let mut context = LaunchContext::of_command(words.into());
        context.environment.insert("SEED_{}".to_owned(), "seed {}".to_owned());
        context.working_directory = Some("/data/{}".to_owned());
        context.stdout = OutputPlace::File("out.{}".to_owned());
        let mut other = LaunchContext { placeholder: None, ..context.clone() };
        put_in(&mut context, "7");
        assert_eq!(context.command, ["./simulate", "--seed=7", "77"]);
        assert_eq!(context.environment["SEED_{}"], "seed 7");
        assert_eq!(context.working_directory.as_deref(), Some("/data/7"));
        assert_eq!((context.stdout, context.stderr), (OutputPlace::File("out.7".to_owned()), OutputPlace::Log));
        let unchanged = other.clone();
        put_in(&mut other, "7");
        assert_eq!(other, unchanged);
    }
}
