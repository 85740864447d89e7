//! A streaming command: how it is encoded in job.xml, cut into words without a shell, and found (1.2.1 `StreamJob`,
//! `StreamUtil.PathFinder`, `PipeMapRed.splitArgs`).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode;

/// A command's words; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    words: Vec<String>,
}

impl CommandLine {
    /// Reads the form-encoded value of a key; `None` when no word is in it.
    pub(crate) fn decode(value: &str) -> Option<Self> {
        let with_blanks = value.replace('+', " ");
        let decoded = percent_decode(with_blanks.as_bytes()).decode_utf8_lossy();
        let words = split_words(&decoded);
        (!words.is_empty()).then_some(Self { words })
    }

    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// The program to start in `folder`: an absolute path as it is, else a readable file there, which is made
    /// executable, or along `search_path`; else the word, unchanged.
    pub(crate) fn program(&self, folder: &Path, search_path: &str) -> PathBuf {
        let word = self.words.first().map(String::as_str).unwrap_or_default();
        if word.starts_with('/') {
            return PathBuf::from(word);
        }
        let shipped = folder.join(word);
        if is_readable_file(&shipped) {
            if let Ok(about) = fs::metadata(&shipped) {
                let executable = fs::Permissions::from_mode(about.permissions().mode() | 0o111);
                // The mode of another user's file stays as it is.
                let _ = fs::set_permissions(&shipped, executable);
            }
            return shipped;
        }
        let along = search_path.split(':').filter(|place| !place.is_empty()).map(|place| Path::new(place).join(word));
        let mut found = along.filter(|path| is_readable_file(path));
        found.next().unwrap_or_else(|| PathBuf::from(word))
    }
}

/// A quote that a command opens and does not close: a task would take all that follows for one word.
pub(crate) fn unclosed_quote(command: &str) -> Option<char> {
    command.chars().fold(None, |open, c| match open {
        Some(quote) => (c != quote).then_some(quote),
        None => Some(c).filter(|c| matches!(c, '"' | '\'')),
    })
}

fn is_readable_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file()) && fs::File::open(path).is_ok()
}

/// Blanks separate; quotes hold together and end a word; there are no escapes, and empty quoted words vanish.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => {
                quote = None;
                words.push(std::mem::take(&mut word));
            }
            Some(_) => word.push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                words.push(std::mem::take(&mut word));
            }
            None if c == ' ' => words.push(std::mem::take(&mut word)),
            None => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(value: &str) -> Vec<String> {
        CommandLine::decode(value).map_or_else(Vec::new, |command| command.words)
    }

    #[test]
    fn words_are_cut_as_by_the_stock_task() {
        assert_eq!(words("%2Fbin%2Fsh+-c+%22cat%3B+exit+5"), ["/bin/sh", "-c", "cat; exit 5"]);
        assert_eq!(words("a%22b+c%22d"), ["a", "b c", "d"]);
        assert_eq!(words("x+''+%22%22+y"), ["x", "y"]);
        assert_eq!(words("x++'a%22b'"), ["x", "a\"b"]);
        assert_eq!(words("a%09b"), ["a\tb"]);
        assert_eq!(words("+"), [""; 0]);
        assert_eq!(words("%zz+%"), ["%zz", "%"]);
    }

    #[test]
    fn a_quote_that_stays_open_is_found() {
        assert_eq!(
            ["sed 's/x", "a \"b'c\" 'd", "sh -c 'it\"s'", "", "it's"].map(unclosed_quote),
            [Some('\''), Some('\''), None, None, Some('\''),]
        );
    }

    #[test]
    fn a_shipped_file_comes_before_the_path() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("run"), "x").unwrap();
        fs::set_permissions(folder.path().join("run"), fs::Permissions::from_mode(0o644)).unwrap();
        let program = |word: &str| CommandLine::decode(word).unwrap().program(folder.path(), ":/bin:/usr/bin");
        assert_eq!(program("run"), folder.path().join("run"));
        let mode = fs::metadata(folder.path().join("run")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        assert_eq!(program("sh"), Path::new("/bin/sh"));
        assert_eq!(program("/x/run"), Path::new("/x/run"));
        assert_eq!(program("no-such-program"), Path::new("no-such-program"));
    }
}
