//! Laws of the policies that limit and refuse, over random clusters: whatever happens, sums equal a recount, limits and reservations hold,
//! the right ones are served first, no slot stays free that a permitted task could use, and every job begins and ends.

mod capacity;
mod cluster;
mod fair;
mod fair_kills;
mod step;
mod switches;
