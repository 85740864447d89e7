//! Tests of granting containers.

mod asking;
mod at_once;
mod bag;
mod delay;
mod laws;
mod levels;
mod model;
mod racks_only;
mod reservation;
mod seed_example;
mod stage;
mod types;
