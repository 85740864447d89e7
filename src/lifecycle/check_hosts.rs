//! A look at the files of hosts: their words that can be the name of no host.

use std::collections::BTreeMap;
use std::path::Path;

use crate::fs::open_named_by_conf;

use super::check_files::FileWarning;

/// Maximum size of a file that is looked at, bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Most words that are named.
const MOST_NAMED: usize = 20;

/// Words that admit or exclude no host, and hosts that are in both files. A file that cannot be read is named elsewhere.
pub(super) fn check_hosts(included: Option<&Path>, excluded: Option<&Path>) -> Vec<FileWarning> {
    let mut found = Vec::new();
    let included = included.map(|path| (path, words(path))).unwrap_or((Path::new(""), Vec::new()));
    let excluded = excluded.map(|path| (path, words(path))).unwrap_or((Path::new(""), Vec::new()));
    for (path, words) in [&included, &excluded] {
        let faults = words.iter().filter_map(|(line, word)| Some((*line, fault(word)?)));
        found.extend(faults.map(|(line, remark)| FileWarning::Line { file: (*path).to_owned(), line, remark }));
    }
    let first: BTreeMap<&str, u32> = included.1.iter().map(|(line, word)| (word.as_str(), *line)).collect();
    let both = excluded.1.iter().filter_map(|(line, word)| Some((*line, word, first.get(word.as_str())?)));
    // One file under both keys has a warning of its own.
    found.extend(both.filter(|_| included.0 != excluded.0).map(|(line, word, first)| FileWarning::Line {
        file: excluded.0.to_owned(),
        line,
        remark: format!("{word} is also at line {first} of {}: it is excluded", included.0.display()),
    }));
    found.truncate(MOST_NAMED);
    found
}

/// Whether a file that can be read names no host.
pub(super) fn is_empty(path: &Path) -> bool {
    path.exists() && words(path).is_empty()
}

/// The words of a file with their lines.
fn words(path: &Path) -> Vec<(u32, String)> {
    let bytes = open_named_by_conf(path).and_then(|file| file.read_limited(MAX_BYTES)).unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap_or_default();
    let of_line = |(line, number): (&str, u32)| -> Vec<(u32, String)> {
        line.split_ascii_whitespace().map(|word| (number, word.to_owned())).collect()
    };
    text.lines().zip(1..).flat_map(of_line).collect()
}

/// Why a word is the name of no host.
fn fault(word: &str) -> Option<String> {
    const PLAIN: &str = "expected the name of a host";
    let read = format!("{word:?} is read as the name of one host");
    if word.starts_with('#') {
        return Some(format!("{read}: there are no comments in this file"));
    }
    if word.contains([',', ';']) {
        return Some(format!("{read}: put blanks or line ends between names"));
    }
    if word.contains("://") || word.contains('/') {
        return Some(format!("{read}: {PLAIN}, no URL and no network"));
    }
    if word.contains(['*', '?', '[']) {
        return Some(format!("{read}: {PLAIN}, no pattern; without a file in mapred.hosts every host is admitted"));
    }
    let is_port = word.rsplit_once(':').is_some_and(|(host, port)| !host.contains(':') && port.parse::<u16>().is_ok());
    is_port.then(|| format!("{read}: {PLAIN}, without a port"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_name_no_host_and_hosts_in_both_files_are_named_with_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let included = file(
            "in",
            "node1,node2\nlocalhost;node1\n10.0.0.0/24\n*\nhttp://node3/\nnode4:50060 node5\n# all\n10.0.0.7 ::1\n",
        );
        let excluded = file("out", "node6\nnode5\n");
        let place = format!("{}/", folder.path().display());
        let texts = |found: Vec<FileWarning>| -> Vec<String> {
            found.iter().map(|warning| warning.to_string().replace(&place, "")).collect()
        };
        insta::assert_snapshot!(texts(check_hosts(Some(&included), Some(&excluded))).join("\n"), @r##"
        in:1: "node1,node2" is read as the name of one host: put blanks or line ends between names
        in:2: "localhost;node1" is read as the name of one host: put blanks or line ends between names
        in:3: "10.0.0.0/24" is read as the name of one host: expected the name of a host, no URL and no network
        in:4: "*" is read as the name of one host: expected the name of a host, no pattern; without a file in mapred.hosts every host is admitted
        in:5: "http://node3/" is read as the name of one host: expected the name of a host, no URL and no network
        in:6: "node4:50060" is read as the name of one host: expected the name of a host, without a port
        in:7: "#" is read as the name of one host: there are no comments in this file
        out:2: node5 is also at line 6 of in: it is excluded
        "##);
        let good = file("good", "node1 node2\n10.0.0.7\nfe80::1\n");
        assert_eq!(texts(check_hosts(Some(&good), None)), [""; 0]);
    }
}
