//! The task grid: a cell a task, or a cell several of them where there are many.

use std::fmt::Write as _;

use crate::api::TaskState;

use super::picture::{LegendLine, Mark, Picture, Px};

pub(crate) const MOST_CELLS: u32 = 2_500;
const ROW: u32 = 50;
/// The side of a cell, and of it with the gap.
const SIDE: u32 = 10;
const STEP: u32 = 11;

/// The grid of the tasks of one kind; `noun`: what they are, in the plural. `runs`: their states by number.
///
/// A cell of several tasks has the state that asks for most attention: failed, preempted, killed, running, waiting, succeeded.
pub(crate) fn grid(name: &'static str, noun: &str, runs: &[(TaskState, u32)]) -> Picture {
    let total: u32 = runs.iter().map(|(_, length)| length).sum();
    let per_cell = total.div_ceil(MOST_CELLS).max(1);
    let cells = cells(runs, per_cell);
    let counts = TaskState::ALL.map(|state| {
        let count: u32 = runs.iter().filter(|(of, _)| *of == state).map(|(_, length)| length).sum();
        (state, count)
    });
    let shown = || counts.iter().filter(|(_, count)| *count > 0);
    let paths = shown().filter_map(|(state, _)| path(&cells, *state));
    let rows = u32::try_from(cells.len()).unwrap_or(u32::MAX).div_ceil(ROW).max(1);
    let runs_text: Vec<String> = runs.iter().map(|(state, length)| format!("{}:{length}", state.word())).collect();
    Picture {
        name,
        title: title(noun, total, &counts),
        width: Px(f64::from(ROW * STEP - 1)),
        height: Px(f64::from(rows * STEP - 1)),
        data: vec![
            ("total", total.to_string()),
            ("per-cell", per_cell.to_string()),
            ("row", ROW.to_string()),
            ("step", STEP.to_string()),
            ("runs", runs_text.join(" ")),
        ],
        marks: paths.collect(),
        legend: shown()
            .map(|(state, count)| {
                LegendLine::new(format!("fill {}", state.word()), format!("{} {count}", state.word()))
            })
            .collect(),
        heads: vec!["State", "Tasks"],
        rows: shown().map(|(state, count)| vec![state.word().to_owned(), count.to_string()]).collect(),
    }
}

fn title(noun: &str, total: u32, counts: &[(TaskState, u32)]) -> String {
    let done = counts.iter().find(|(state, _)| *state == TaskState::Succeeded).map_or(0, |(_, count)| *count);
    let mut title = format!("{done} of {total} {noun} done");
    for (state, count) in counts.iter().filter(|(state, count)| *state != TaskState::Succeeded && *count > 0) {
        // A text in memory takes all that is written to it.
        let _ = write!(title, ", {count} {}", state.word());
    }
    title
}

fn cells(runs: &[(TaskState, u32)], per_cell: u32) -> Vec<TaskState> {
    let mut cells = Vec::new();
    let (mut worst, mut filled): (Option<TaskState>, u32) = (None, 0);
    for (state, length) in runs {
        let mut left = *length;
        while left > 0 {
            let taken = left.min(per_cell - filled);
            worst = Some(worst.map_or(*state, |worst| if rank(*state) > rank(worst) { *state } else { worst }));
            left -= taken;
            filled += taken;
            if filled == per_cell {
                cells.extend(worst.take());
                filled = 0;
            }
        }
    }
    cells.extend(worst);
    cells
}

/// How much a state asks for attention.
const fn rank(state: TaskState) -> u8 {
    match state {
        TaskState::Succeeded => 0,
        TaskState::Waiting => 1,
        TaskState::Running => 2,
        TaskState::Killed => 3,
        TaskState::Preempted => 4,
        TaskState::Failed => 5,
    }
}

/// One path for all cells of a state: cells beside each other in a row move on from one another.
fn path(cells: &[TaskState], of: TaskState) -> Option<Mark> {
    let mut d = String::new();
    for (index, _) in cells.iter().enumerate().filter(|(_, state)| **state == of) {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let (x, y) = (index % ROW * STEP, index / ROW * STEP);
        // A text in memory takes all that is written to it.
        let _ = write!(d, "M{x} {y}h{SIDE}v{SIDE}h-{SIDE}z");
    }
    (!d.is_empty()).then(|| Mark::Path { class: format!("fill {}", of.word()), d, series: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use TaskState::{Failed, Running, Succeeded, Waiting};

    /// Cells of each state, read back from the marks.
    fn drawn(picture: &Picture) -> Vec<(String, usize)> {
        let of = |mark: &Mark| match mark {
            Mark::Path { class, d, .. } => (class.replace("fill ", ""), d.matches('M').count()),
            other => panic!("{other:?}"),
        };
        picture.marks.iter().map(of).collect()
    }

    #[test]
    fn cells_are_tasks_and_their_places_are_the_numbers() {
        let picture = grid("grid", "maps", &[(Succeeded, 49), (Failed, 2), (Running, 3), (Waiting, 1)]);
        assert_eq!(picture.title, "49 of 55 maps done, 3 running, 1 waiting, 2 failed");
        let counts = [("succeeded", 49), ("running", 3), ("waiting", 1), ("failed", 2)];
        assert_eq!(drawn(&picture), counts.map(|(state, count)| (state.to_owned(), count)));
        let Some(Mark::Path { d, .. }) = picture.marks.last() else { panic!("{picture:?}") };
        assert_eq!(d, "M539 0h10v10h-10zM0 11h10v10h-10z", "tasks 49 and 50");
        assert_eq!(picture.rows[3], ["failed", "2"]);
        assert_eq!((picture.width, picture.height), (Px(549.0), Px(21.0)));
    }

    #[test]
    fn a_cell_of_many_tasks_has_the_gravest_state_and_says_how_many() {
        let picture = grid("grid", "maps", &[(Succeeded, 3_000), (Failed, 1), (Waiting, 4_499)]);
        let data: Vec<_> = picture.data.iter().map(|(_, value)| &**value).collect();
        assert_eq!(data, ["7500", "3", "50", "11", "succeeded:3000 failed:1 waiting:4499"]);
        let counts = [("succeeded", 1_000), ("waiting", 1_499), ("failed", 1)];
        assert_eq!(drawn(&picture), counts.map(|(state, count)| (state.to_owned(), count)));
        let huge = grid("grid", "maps", &[(Waiting, 1_000_000)]);
        assert_eq!(drawn(&huge), [("waiting".to_owned(), 2_500)]);
        let Mark::Path { d, .. } = &huge.marks[0] else { panic!() };
        assert!(d.len() < 60_000, "{}", d.len());
    }
}
