//! One job alone, where a whole cluster could not bring it into the state that is tested.

mod commits;
mod stage;
