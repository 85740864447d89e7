//! `docs/configuration.md`, generated from the key tables.

use std::fmt::Write;

use super::documented_limits::{self as limits, DocumentedUnit, LimitAction, Sender};
use super::keys::{SECTIONS, ValueKind, unused};

const HEAD: &str = "# Configuration

<!-- Generated from the key tables in src/config/keys/; regenerate with `UPDATE_DOCS=1 cargo test --lib config::docs`. -->

`jobtracker serve --conf DIR` (or `JOBTRACKER_CONF`, `HADOOP_CONF_DIR`) reads `core-site.xml`, `mapred-site.xml`, `hdfs-site.xml`,
`hadoop-site.xml` (deprecated) and `mapred-queue-acls.xml` of a Hadoop 1 conf folder, in this order; each may be missing.
A later file overrides an earlier one, except for values marked `<final>true</final>`. `-D key=value` overrides
everything, final values too. `${name}` in a value is replaced by `user.name`, `user.home`, `java.io.tmpdir` or the value
of another key, at most 20 times. A name that nothing sets is an error in a path, an address, a number, a flag or a class, and a
warning in a text, which keeps it. XInclude and entity declarations are not supported, and refused. A `<configuration>` inside the
`<configuration>` is read like the outer one.

Without a conf folder everything binds to loopback.

If a key has other names, the first one wins when files set both. A value of the wrong kind is an error that
names file, line and key. `jobtracker check-config` prints the effective values and where they are set (with `--tasktracker` those of that daemon), and
warnings: unread keys with this JobTracker's prefixes or with a name close to a known key, and contradictory values. It looks at this machine as a
start by the same user would, and changes nothing: folders that cannot be made or written, addresses that are not this machine's, a NameNode
without an address are errors, all of them at once. Start and reload log the same warnings, but for those of folders, which the start logs where it opens them.
";

const LIMITS_HEAD: &str = "
## Limits on received data

These limits are fixed. Stock clients and TaskTrackers stay far below them, unless a job has such texts. Errors and log lines repeat at most
64 characters of a text that is beyond its limit.

| what | sent by | maximum | beyond it |
| --- | --- | --- | --- |
";

const INSTEAD_HEAD: &str = "
## Keys of Hadoop that nothing acts on

A Java JobTracker reads these keys. This one does what is said here instead. The start logs a line for each that is set to another value than
Hadoop's default, `jobtracker check-config` lists all that are set. `*` stands for the rest of a name.

| key | instead |
| --- | --- |
";

#[must_use]
pub(crate) fn render() -> String {
    let mut page = String::from(HEAD);
    for section in SECTIONS {
        // Writing into a String cannot fail.
        let _ = write!(page, "\n## {}\n\n{}\n\n", section.title, section.note);
        page.push_str(
            "| key | other names | default | unit | value | meaning |\n| --- | --- | --- | --- | --- | --- |\n",
        );
        for key in section.keys {
            let aliases: Vec<String> = key.aliases.iter().map(|alias| format!("`{alias}`")).collect();
            let default =
                key.default.filter(|default| !default.trim().is_empty()).map(|default| format!("`{default}`"));
            let unit = match key.kind {
                ValueKind::Number(unit, _, _) => unit.symbol(),
                _ => "",
            };
            let row = [
                &format!("`{}`", key.name),
                &aliases.join(", "),
                &default.unwrap_or_default(),
                unit,
                &key.kind.to_string(),
                key.meaning,
            ];
            let _ = writeln!(page, "| {} |", row.map(|cell| cell.replace('|', "\\|")).join(" | "));
        }
    }
    page.push_str(INSTEAD_HEAD);
    for (key, instead) in unused::OF_JOBTRACKER {
        let _ = writeln!(page, "| `{key}` | {instead} |");
    }
    page.push_str(LIMITS_HEAD);
    for limit in limits::TABLE {
        let _ = writeln!(page, "| {} |", limit_row(limit).join(" | "));
    }
    page
}

fn limit_row(limit: &limits::Limit) -> [String; 4] {
    let sender = match limit.sender {
        Sender::AnyClient => "any connection",
        Sender::Tracker => "TaskTrackers",
        Sender::JobClient => "job clients",
        Sender::NameNode => "NameNode",
        Sender::DataNode => "DataNodes",
    };
    let most = match (limit.unit, limit.max) {
        (DocumentedUnit::Bytes, most) if most >= 1 << 20 => format!("{} MiB", most >> 20),
        (DocumentedUnit::Bytes, most) if most >= 1 << 10 && most % (1 << 10) == 0 => format!("{} KiB", most >> 10),
        (DocumentedUnit::Bytes, most) => format!("{most} bytes"),
        (DocumentedUnit::Pieces, most) => most.to_string(),
    };
    let beyond = match limit.action {
        LimitAction::Truncate => "the rest is truncated",
        LimitAction::Reject => "the call fails and names the limit",
        LimitAction::Disallow => "`DisallowedTaskTrackerException`",
        LimitAction::Ignore => "ignored",
        LimitAction::Close => "the connection is closed",
    };
    [limit.what.to_owned(), sender.to_owned(), most, beyond.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/docs")).unwrap();
            std::fs::write(path, render()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(page == render(), "{path} is out of date: run UPDATE_DOCS=1 cargo test --lib config::docs");
    }
}
