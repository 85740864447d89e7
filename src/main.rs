//! The `jobtracker` command.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// What large requests took goes back to the system once they are over; glibc keeps much of it in each thread's heap.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    jobtracker::cli::main()
}
