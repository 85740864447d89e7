//! `jobtracker upgrade` on the program itself: a new process replaces the old one, unnoticed by clients; or it fails,
//! unnoticed as well.

mod continuing;
mod failing;
mod many;
pub mod stage;
mod supervised;

const BUDGETS: &str = "alice 100 1\nbob 7.5 0.25\n";
