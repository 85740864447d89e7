//! Applications over HTTP and a worker's beats over RPC, as the program serves them: what waits, and who ends the wait; racks as places; what
//! is hostile, wrong or silent.

mod bad_requests;
mod fake_worker;
mod full_disk;
mod http;
mod long_over;
mod masters;
mod racks_only;
mod waits;
