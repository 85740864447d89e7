//! Held to what a JobTracker of Hadoop 1.2.1 answered (`tests/fixtures/web`): the same elements, texts, ids and links, but for the
//! differences that `tokens.rs` lists.

mod collectors;
mod conf;
mod hostile;
mod identity;
mod jmx;
mod past;
mod recorded;
mod stage;
mod tokens;
