//! Containers, one a line.

use crate::api::applications::{ContainerReport, ContainerRow};
use crate::cli::market_text::{columns, format_duration, lines};
use crate::cli::time_text::format_time;

/// A table for people.
pub(super) fn render_containers(containers: &[ContainerReport]) -> String {
    let rows: Vec<ContainerRow> = containers.iter().map(ContainerRow::from).collect();
    let has_items = rows.iter().any(|row| row.item.is_some());
    let names = ["container", "state", "item", "node", "started", "ran", "exit", "why"];
    let names: Vec<&str> = names.into_iter().filter(|name| has_items || *name != "item").collect();
    let mut table = columns(&names, names.len());
    for row in &rows {
        let ran_ms = row.started_ms.zip(row.finished_ms).map(|(started_ms, finished_ms)| finished_ms - started_ms);
        let item = match (row.item, row.item_attempt) {
            (Some(item), Some(attempt)) if attempt > 1 => format!("{item} (attempt {attempt})"),
            (Some(item), _) => item.to_string(),
            (None, _) => "-".to_owned(),
        };
        let cells = [
            row.container.to_string(),
            row.state.name().to_owned(),
            item,
            row.node.clone(),
            row.started_ms.map_or_else(|| "-".to_owned(), format_time),
            format_duration(ran_ms.and_then(|ms| u64::try_from(ms / 1000).ok())),
            row.exit_status.map_or_else(|| "-".to_owned(), |status| status.0.to_string()),
            row.diagnostics
                .as_deref()
                .map_or_else(String::new, |text| text.lines().next().unwrap_or_default().to_owned()),
        ];
        table.add_row(cells.into_iter().enumerate().filter(|(at, _)| has_items || *at != 2).map(|(_, cell)| cell));
    }
    lines(&table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::applications::ContainerState;
    use crate::client::applications::tests::example_container;
    use crate::model::ContainerExit;

    #[test]
    fn containers_are_shown_a_line_each() {
        let running = example_container(1);
        let ended = ContainerReport {
            state: ContainerState::Complete,
            exit_status: ContainerExit(-104),
            diagnostics: "used 1100 MB of 1024 MB\nmore".to_owned(),
            finished_time: running.started_time + 65_000,
            ..example_container(2)
        };
        insta::assert_snapshot!(render_containers(&[running.clone(), ended.clone()]), @r"
        CONTAINER                               STATE     NODE      STARTED               RAN    EXIT  WHY
        container_1700000000000_0001_00_000001  RUNNING   h1:50060  2023-11-14T22:13:20Z  -      -
        container_1700000000000_0001_00_000002  COMPLETE  h1:50060  2023-11-14T22:13:20Z  1m 5s  -104  used 1100 MB of 1024 MB
        ");
        let of_item = ContainerReport { item: Some(7), item_attempt: Some(2), ..ended };
        insta::assert_snapshot!(render_containers(&[running, of_item]), @r"
        CONTAINER                               STATE     ITEM           NODE      STARTED               RAN    EXIT  WHY
        container_1700000000000_0001_00_000001  RUNNING   -              h1:50060  2023-11-14T22:13:20Z  -      -
        container_1700000000000_0001_00_000002  COMPLETE  7 (attempt 2)  h1:50060  2023-11-14T22:13:20Z  1m 5s  -104  used 1100 MB of 1024 MB
        ");
    }
}
