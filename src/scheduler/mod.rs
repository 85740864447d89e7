//! Queues, request tables, the assignment loop and the policies that order it. Never sees a task, a split or the wire.

mod slots;
pub use slots::{Kind, PerKind};
