//! The auditor of the bidding load, which shares no code with the daemon.

#[path = "../../examples/load/bidding/amount.rs"]
pub mod amount;
#[path = "../../examples/load/bidding/evidence.rs"]
pub mod evidence;
#[path = "../../examples/load/bidding/image.rs"]
pub mod image;
#[path = "../../examples/load/bidding/money.rs"]
pub mod money;
#[path = "../../examples/load/bidding/world.rs"]
pub mod world;
