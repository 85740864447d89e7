//! Applications over HTTP and a worker's beats over RPC, as the program serves them: what waits, and who ends the wait.

mod fake_worker;
mod full_disk;
mod http;
mod long_over;
mod waits;
