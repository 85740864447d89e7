//! Address of the HTTP server: `--server`, else the file that the document's clients read.

use std::path::Path;

use crate::fs::{Expected, open_behind_links};

/// File with the server's address, from the Dynamic Priority Scheduler document.
const SERVER_FILE: &str = "/etc/hadoop_server";
const DEFAULT_SERVER: &str = "127.0.0.1:50030";
const MAX_ADDRESS_BYTES: u64 = 4096;
/// HTTP port of a JobTracker.
const DEFAULT_PORT: &str = "50030";

/// The HTTP address, `host:port`: the one given, else the content of `/etc/hadoop_server`, else this machine.
pub(super) fn server_address(given: Option<&str>) -> String {
    address(given, Path::new(SERVER_FILE))
}

fn address(given: Option<&str>, file: &Path) -> String {
    let from_file = || {
        let opened = open_behind_links(file, &Expected::file_of_any_owner().at_most(MAX_ADDRESS_BYTES)).ok()?;
        String::from_utf8(opened.read_limited(MAX_ADDRESS_BYTES).ok()?).ok()
    };
    let server = given.map(str::to_owned).or_else(from_file).unwrap_or_default();
    let server = server.trim();
    let server = server.strip_prefix("http://").unwrap_or(server).trim_end_matches('/');
    // An address of IPv6 has colons of its own, in brackets.
    let has_port = server.rsplit(']').next().unwrap_or_default().contains(':');
    match server {
        "" => DEFAULT_SERVER.to_owned(),
        server if has_port => server.to_owned(),
        server => format!("{server}:{DEFAULT_PORT}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_wins_over_the_file_and_the_file_over_the_default() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hadoop_server");
        assert_eq!(address(None, &file), "127.0.0.1:50030");
        std::fs::write(&file, " \n").unwrap();
        assert_eq!(address(None, &file), "127.0.0.1:50030");
        std::fs::write(&file, "http://master:8080/\n").unwrap();
        assert_eq!(address(None, &file), "master:8080");
        assert_eq!(address(Some("other"), &file), "other:50030");
        assert_eq!(address(Some("[::1]"), &file), "[::1]:50030");
        assert_eq!(address(Some("[::1]:80"), &file), "[::1]:80");
    }
}
