//! Tests of granting containers.

mod asking;
mod at_once;
mod bag;
mod delay;
mod earmarks;
mod laws;
mod levels;
mod limits;
mod model;
mod placing;
mod policies;
mod racks_only;
mod reservation;
mod seed_example;
mod stage;
mod types;
