//! Tenants who play against the market, beside the honest bidders: each has a queue and money, and bids, submits and asks
//! as its scheme says. Their chance comes from streams of their own.

mod player_plan;
mod players;

pub(super) use player_plan::{EIGHTH, FREE_DISK_BYTES, JobShape, STREAM, plan_players};
