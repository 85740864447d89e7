//! A grid of states, whose size depends on what is asked for, and the words for states and kinds of tasks.

use serde::Serialize;

use crate::api::TaskState;
use crate::model::Kind;

use super::super::applications::QueryParameters;

/// Cells unless they are given.
const CELLS: u32 = 2_500;
const MOST_CELLS: u64 = 10_000;

/// How many of what is in a row are in which state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Grid {
    kind: &'static str,
    total: u32,
    per_cell: u32,
    states: [&'static str; 5],
    /// Counts in the order of `states`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cells: Vec<[u32; 5]>,
    /// Runs in one state: the place in `states`, and how many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: Vec<(usize, u32)>,
}

/// Runs in one state, joined as they come.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs(Vec<(usize, u32)>);

impl Runs {
    /// So many more are in the state at this place.
    pub(super) fn add(&mut self, place: usize, count: u32) {
        match self.0.last_mut() {
            Some((last, sum)) if *last == place => *sum = sum.saturating_add(count),
            _ => self.0.push((place, count)),
        }
    }
}

impl FromIterator<(usize, u32)> for Runs {
    fn from_iter<T: IntoIterator<Item = (usize, u32)>>(runs: T) -> Self {
        let mut joined = Self::default();
        runs.into_iter().for_each(|(place, count)| joined.add(place, count));
        joined
    }
}

impl Grid {
    /// With at most so many cells; 0: with the runs as they are.
    pub(super) fn new(kind: &'static str, states: [&'static str; 5], Runs(runs): Runs, cells: u32) -> Self {
        let total: u32 = runs.iter().map(|(_, count)| count).sum();
        if cells == 0 {
            return Self { kind, total, per_cell: 1, states, cells: Vec::new(), runs };
        }
        let per_cell = total.div_ceil(cells).max(1);
        let mut cells = vec![[0; 5]; total.div_ceil(per_cell) as usize];
        let all = runs.into_iter().flat_map(|(place, count)| std::iter::repeat_n(place, count as usize));
        for (index, place) in all.enumerate() {
            cells[index / per_cell as usize][place] += 1;
        }
        Self { kind, total, per_cell, states, cells, runs: Vec::new() }
    }
}

/// Reads how many cells are wanted at most.
pub(super) fn cells(parameters: &mut QueryParameters) -> u32 {
    parameters.whole("cells", 0..=MOST_CELLS).unwrap_or(CELLS)
}

/// The states of tasks, in the order in which the API lists them.
pub(super) const STATES: [&str; 5] = ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "KILLED"];

/// The place of a state in [`STATES`]: a task whose last attempt was preempted is pending.
pub(super) const fn place_of(state: TaskState) -> usize {
    match state {
        TaskState::Waiting | TaskState::Preempted => 0,
        TaskState::Running => 1,
        TaskState::Succeeded => 2,
        TaskState::Failed => 3,
        TaskState::Killed => 4,
    }
}

pub(super) const fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "map",
        Kind::Reduce => "reduce",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_as_large_as_it_is_asked_for_and_counts_everything() {
        let states = ["a", "b", "c", "d", "e"];
        let grid = |cells| {
            let runs = [(2, 7), (1, 1), (3, 1), (0, 1), (0, 1)].into_iter().collect();
            Grid::new("map", states, runs, cells)
        };
        assert_eq!((grid(4).total, grid(4).per_cell), (11, 3));
        assert_eq!(grid(4).cells, [[0, 0, 3, 0, 0], [0, 0, 3, 0, 0], [0, 1, 1, 1, 0], [2, 0, 0, 0, 0]]);
        assert_eq!(grid(0).runs, [(2, 7), (1, 1), (3, 1), (0, 2)]);
        assert_eq!(Grid::new("reduce", states, Runs::default(), 10).cells, Vec::<[u32; 5]>::new());
    }
}
