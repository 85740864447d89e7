//! The job client: its words against recorded ones, its program against our JobTracker with trackers of the test.

mod commands;
mod handed_over;
mod recorded;
mod restart;
mod signed;
mod workers;
