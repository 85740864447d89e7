//! The owner of all state: events in; replies, effects and facts out. Pure.

mod now;
pub use now::Now;
