//! The slot map: a row a worker, a cell a slot, in the colour of who holds it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::bars::short;
use super::picture::{LegendLine, Mark, Picture, Px};

const LEFT: f64 = 168.0;
const STEP: f64 = 14.0;
const SIDE: f64 = 12.0;
/// Above and below the cells of a worker, so that names do not touch.
const PAD: f64 = 4.0;
/// Cells in a line; a worker with more has several lines.
const LINE: usize = 32;
/// Most lines of cells; the rest is in the table alone.
const MOST_LINES: usize = 200;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SlotRow {
    pub(crate) worker: String,
    /// For each slot the class of its holder, and `free` for none.
    pub(crate) cells: Vec<String>,
    pub(crate) row: Vec<String>,
}

/// The map of rows; the words of each class stand in the legend.
pub(crate) fn slot_map(title: String, rows: &[SlotRow], legend: Vec<LegendLine>, heads: Vec<&'static str>) -> Picture {
    let (mut paths, mut marks): (BTreeMap<&str, (String, usize)>, Vec<Mark>) = (BTreeMap::new(), Vec::new());
    let (mut line, mut top) = (0, 0.0);
    for row in rows {
        let lines = row.cells.len().div_ceil(LINE).max(1);
        if line + lines > MOST_LINES {
            break;
        }
        marks.push(Mark::word("name", LEFT - 8.0, top + PAD + SIDE, short(&row.worker)));
        for (index, class) in row.cells.iter().enumerate() {
            let (x, y) = (LEFT + (index % LINE) as f64 * STEP, top + PAD + (index / LINE) as f64 * STEP);
            let (d, count) = paths.entry(class).or_default();
            // A text in memory takes all that is written to it.
            let _ = write!(d, "M{} {}h{SIDE}v{SIDE}h-{SIDE}z", Px(x), Px(y));
            *count += 1;
        }
        line += lines;
        top += lines as f64 * STEP + 2.0 * PAD;
    }
    let data = paths.iter().map(|(class, (_, count))| format!("{class}:{count}")).collect::<Vec<_>>().join(" ");
    marks.extend(paths.into_iter().map(|(class, (d, _))| Mark::Path {
        class: format!("cell {class}"),
        d,
        series: None,
    }));
    Picture {
        name: "slots",
        title,
        width: Px(LEFT + LINE as f64 * STEP),
        height: Px(top.max(STEP)),
        data: vec![("cells", data)],
        marks,
        legend,
        heads,
        rows: rows.iter().map(|row| row.row.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_is_a_cell_of_its_holder() {
        let row = |worker: &str, cells: &[&str]| SlotRow {
            worker: worker.to_owned(),
            cells: cells.iter().map(|class| (*class).to_owned()).collect(),
            row: vec![],
        };
        let many = vec!["free"; 33];
        let picture = slot_map("t".to_owned(), &[row("a", &["q0", "q1", "free"]), row("b", &many)], vec![], vec![]);
        assert_eq!(picture.data, [("cells", "free:34 q0:1 q1:1".to_owned())]);
        let drawn: Vec<_> = picture
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Path { class, d, .. } => Some((class.as_str(), d.matches('M').count())),
                _ => None,
            })
            .collect();
        assert_eq!(drawn, [("cell free", 34), ("cell q0", 1), ("cell q1", 1)]);
        assert_eq!(picture.height, Px(58.0), "three lines of two workers");
    }
}
