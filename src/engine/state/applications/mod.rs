//! Applications that ask for containers, their containers, and what their workers are to be given of them.

mod refusal;

pub use refusal::{ApplicationRefusal, BodyFault};
