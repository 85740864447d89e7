//! The web server over a real loopback connection, in front of a real market and a made-up cluster.

mod administrators;
mod bidders;
mod client;
mod explain;
mod hostile;
mod pages;
mod report;
mod scheduler;
mod scheduler_page;
mod sessions;
mod stage;
mod statement;
mod tasks;
mod waiting;
