//! Clients of the RPC and HTTP interfaces.
