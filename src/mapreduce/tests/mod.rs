//! One job alone, for states that a whole cluster cannot produce.

mod bounds;
mod consistency;
mod ends;
mod facets;
mod skipping;
mod speculation;
mod stage;
