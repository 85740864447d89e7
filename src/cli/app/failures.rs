//! Why containers of an application failed, grouped by their reasons: the first of a kind is shown with the end of its standard
//! error output, the others are counted.

use std::collections::BTreeSet;

use crate::api::applications::ContainerReport;
use crate::cli::job::without_numbers;
use crate::cli::pasted::pasted;
use crate::client::applications::{ApplicationClient, ApplicationClientError, ContainerLog, ContainerQuery, LogName};
use crate::model::{ApplicationId, ContainerExit};

use crate::cli::terminal::one_line;

/// Kinds of failures that are shown.
const MOST_KINDS: usize = 3;
/// Lines of diagnostics, and of a standard error output, that are shown.
const MOST_LINES: usize = 10;
/// Most failed containers that are looked at.
const MOST_CONTAINERS: usize = 1_000;

struct ContainerFailureKind {
    reason: (ContainerExit, String),
    first: ContainerReport,
    /// The end of the first one's standard error output.
    last_lines: Vec<String>,
    items: BTreeSet<u32>,
    containers: usize,
}

/// Each distinct reason once, with the number of items that share it; empty if nothing failed.
/// Errors: the containers cannot be listed. A log that cannot be read is left out.
pub(crate) async fn failure_text(
    client: &ApplicationClient,
    application: ApplicationId,
) -> Result<String, ApplicationClientError> {
    let query = ContainerQuery { failed_only: true, limit: Some(MOST_CONTAINERS), ..ContainerQuery::default() };
    let failed = client.containers(application, query).await?;
    let are_all = failed.len() < MOST_CONTAINERS;
    let mut kinds = group(failed);
    for kind in kinds.iter_mut().take(MOST_KINDS) {
        let log = ContainerLog::new(client, kind.first.container_id, LogName::Stderr).read_from(0).await;
        kind.last_lines = last_lines(&log.unwrap_or_default());
    }
    Ok(render(&kinds, application, are_all))
}

/// In the order of their first containers.
fn group(failed: Vec<ContainerReport>) -> Vec<ContainerFailureKind> {
    let mut kinds: Vec<ContainerFailureKind> = Vec::new();
    for container in failed {
        let reason = (container.exit_status, without_numbers(&container.diagnostics));
        let item = container.item;
        let known = kinds.iter().position(|kind| kind.reason == reason);
        let at = known.unwrap_or_else(|| {
            let (last_lines, items) = (Vec::new(), BTreeSet::new());
            kinds.push(ContainerFailureKind { reason, first: container, last_lines, items, containers: 0 });
            kinds.len() - 1
        });
        kinds[at].containers += 1;
        kinds[at].items.extend(item);
    }
    kinds
}

fn last_lines(log: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(log);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(MOST_LINES)..].iter().map(|line| one_line(line)).collect()
}

fn render(kinds: &[ContainerFailureKind], application: ApplicationId, are_all: bool) -> String {
    let (shown, hidden) = kinds.split_at(kinds.len().min(MOST_KINDS));
    let at_least = if are_all { "" } else { "at least " };
    let mut text: String = shown.iter().map(|kind| kind.render(at_least)).collect();
    if !hidden.is_empty() {
        let count: usize = hidden.iter().map(ContainerFailureKind::count).sum();
        let (reasons, is_one) = (hidden.len(), hidden.len() == 1);
        text += &format!(
            "{at_least}{count} failed for {reasons} other reason{}; see: {}\n",
            if is_one { "" } else { "s" },
            pasted(&format!("jobtracker app status {application} --failed"))
        );
    }
    text
}

impl ContainerFailureKind {
    /// How many items failed so; of containers without items, how many of them.
    fn count(&self) -> usize {
        if self.items.is_empty() { self.containers } else { self.items.len() }
    }

    fn render(&self, at_least: &str) -> String {
        let ContainerReport { container_id, item, diagnostics, exit_status, .. } = &self.first;
        let mut lines = diagnostics.lines().filter(|line| !line.trim().is_empty()).take(MOST_LINES).map(one_line);
        let reason = lines.next().unwrap_or_else(|| format!("exit status {}", exit_status.0));
        let mut text = match item {
            Some(item) => format!("item {item}: {reason}\n"),
            None => format!("{container_id}: {reason}\n"),
        };
        for line in lines.chain(self.last_lines.iter().cloned()) {
            text += &format!("  {line}\n");
        }
        let word = if self.items.is_empty() { "container" } else { "item" };
        match self.count() {
            0 | 1 => {}
            2 => text += &format!("{at_least}1 more {word} failed the same way\n"),
            count => text += &format!("{at_least}{} more {word}s failed the same way\n", count - 1),
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::applications::tests::{APPLICATION, example_container};

    fn failed(number: u64, item: u32, exit: i32, diagnostics: &str) -> ContainerReport {
        let diagnostics = diagnostics.to_owned();
        ContainerReport { item: Some(item), exit_status: ContainerExit(exit), diagnostics, ..example_container(number) }
    }

    #[test]
    fn each_reason_is_shown_once_and_the_others_are_counted() {
        let missing = "the program \"./no7\" cannot be started: No such file or directory (os error 2)";
        let mut kinds = group(vec![
            failed(1, 4, 3, "exit code 3"),
            failed(2, 5, 3, "exit code 3"),
            failed(3, 4, 3, "exit code 3"),
            failed(4, 6, 3, "exit code 3"),
            failed(5, 7, 4, "exit code 4"),
            failed(6, 8, -1000, &missing.replace('7', "8")),
            failed(7, 9, -1000, missing),
            failed(8, 10, -200, "ran longer than its time-limit-ms of 5"),
            failed(9, 11, -104, "used 7 MB\nof memory\u{1b}[2K"),
        ]);
        kinds[0].last_lines = last_lines(b"one\n\nboom\x1b[2K\n");
        insta::assert_snapshot!(render(&kinds, APPLICATION, true), @r#"
        item 4: exit code 3
          one
          boom\u{1b}[2K
        2 more items failed the same way
        item 7: exit code 4
        item 8: the program "./no8" cannot be started: No such file or directory (os error 2)
        1 more item failed the same way
        2 failed for 2 other reasons; see: jobtracker app status application_1700000000000_0001 --failed
        "#);
        assert_eq!(render(&[], APPLICATION, true), "");
    }

    #[test]
    fn containers_without_items_are_named_by_their_ids() {
        let container = |number| ContainerReport { item: None, ..failed(number, 0, 1, "a\nb") };
        let kinds = group((1..4).map(container).collect());
        insta::assert_snapshot!(render(&kinds, APPLICATION, false), @r"
        container_1700000000000_0001_00_000001: a
          b
        at least 2 more containers failed the same way
        ");
    }

    #[test]
    fn only_the_end_of_a_log_is_shown() {
        let log: String = (0..100).map(|number| format!("{number}\n")).collect();
        let lines = last_lines(log.as_bytes());
        assert_eq!((lines.len(), lines[0].as_str(), lines[9].as_str()), (10, "90", "99"));
        assert_eq!(last_lines(b""), Vec::<String>::new());
    }
}
