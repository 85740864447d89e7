//! One job alone, where a whole cluster could not bring it into the state that is tested.

mod bounds;
mod commits;
mod consistency;
mod ends;
mod facets;
mod skipping;
mod speculation;
mod stage;
