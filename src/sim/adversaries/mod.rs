//! Tenants who play against the market, beside the honest bidders: each has a queue and money, and bids, submits and asks
//! as its scheme says. Their chance comes from streams of their own.

mod accomplices;
mod clinger;
mod clock_player;
mod flipper;
mod hoarder;
mod job_shape;
mod phantom;
mod player_plan;
mod players;
mod scheme;
mod splitter;
mod steady;

pub(super) use job_shape::JobShape;
pub(super) use player_plan::{EIGHTH, FREE_DISK_BYTES, STREAM, plan_players};
pub(super) use scheme::Scheme;
