//! The fair policy in a small cluster: the rows of the original's tests, by name.

mod cluster;
mod delay_rows;
mod holds;
mod order_rows;
