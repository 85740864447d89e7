//! Tests of the pages: what they show of a cluster of plain numbers, and that what is private stays so.

mod palette;
mod quotes;
mod shown;
mod stage;
