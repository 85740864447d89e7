//! Pictures: numbers in, marks of an SVG out. No page is known here, and no text but in words that are given.
//!
//! Each has a name, a title that says what is to be seen, its scales as data, and the same numbers as a table of texts.

mod bars;
mod gantt;
mod grid;
mod histogram;
mod ladder;
mod picture;
mod slot_map;
mod spans;
mod stack;
mod steps;

pub(super) use bars::{Bar, bars};
pub(super) use gantt::{GanttBar, gantt};
pub(super) use grid::grid;
pub(super) use histogram::histogram;
pub(super) use ladder::{Rung, ladder};
pub(super) use picture::{LegendLine, Mark, Picture};
pub(super) use slot_map::{SlotRow, slot_map};
pub(super) use spans::{SpanLine, span_lines};
pub(super) use stack::{StackLayer, StackPoint, stack};
pub(super) use steps::{StepPoint, steps};
