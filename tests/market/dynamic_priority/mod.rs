//! The Dynamic Priority Scheduler's document, its original and what ours decided to do otherwise, row by row: each rule a test
//! named after where it stands. Through the daemon as users, job clients, trackers and administrators meet it.

mod accounting;
mod answers;
mod authorization;
mod bidders;
mod defects_of_files;
mod defects_of_requests;
mod defects_of_slots;
mod files;
pub mod market;
mod operations;
mod rows;
mod submissions;
