//! The owner thread, RPC server, timers, reload.
