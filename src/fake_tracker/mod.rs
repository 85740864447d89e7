//! A TaskTracker without processes: a pure state machine that makes heartbeats and obeys answers as a stock one does; and the part of a
//! built-in worker that runs containers. The simulator, the tests of the engine and over sockets, the load generator and the benchmarks
//! drive it. They decide what each attempt does next and how it is reported.

mod attempt;
#[cfg(test)]
mod tests;
mod tracker;
mod worker;

pub use attempt::{AttemptStep, FakeAttempt, Role};
pub use tracker::FakeTracker;
pub(crate) use worker::FakeWorker;
pub use worker::report_end;
