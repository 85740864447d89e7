//! What a client may ask of us.

/// The limits of the RPC server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RpcLimits {
    /// Longest frame, bytes: `jobtracker.rpc.max-frame-bytes`.
    pub max_frame_bytes: usize,
    /// Connections at one time; beyond it no further one is accepted: `jobtracker.rpc.max-connections`.
    pub max_connections: usize,
    /// Calls of one connection that are not answered yet; beyond it no further one is read:
    /// `jobtracker.rpc.max-calls-in-flight`.
    pub max_calls_in_flight: u32,
    /// A client that takes less than 64 KiB of what waits for it in so long is dropped: `jobtracker.rpc.write-timeout-ms`.
    pub write_timeout_ms: u64,
    /// An opening, or a frame that has begun, must be complete after so long.
    pub frame_timeout_ms: u64,
    /// While more than half of the places are taken, a client that is silent for so long is dropped.
    pub idle_client_ms: u64,
    /// The same for connections of trackers.
    pub idle_tracker_ms: u64,
    /// Calls of clients that wait for their turn, over all connections.
    pub waiting_calls: usize,
    /// Bytes of clients' calls that have come in part or are not answered yet, over all connections. Beyond it a client
    /// is heard one short call at a time.
    pub waiting_call_bytes: usize,
    /// Bytes of trackers' calls that have come in part, over all connections. Beyond it long ones wait in the socket.
    pub waiting_heartbeat_bytes: usize,
    /// Bytes of answers that clients have not read, over all connections. Beyond it no further long answer is made.
    pub unread_bytes: usize,
    /// Bytes of answers that are made and wait for the store, over all connections; beyond it questions wait to be asked.
    pub held_bytes: usize,
    /// Patience with who keeps others waiting, by the bytes above or by the last place: for an opening, a frame that has
    /// begun, an answer that is not read.
    pub short_patience_ms: u64,
    /// While all places are taken, a client that is silent for so long is dropped. Stock clients hang up after ten
    /// seconds of silence by themselves.
    pub full_idle_client_ms: u64,
    /// One address may have a quarter of the places with connections that have sent no heartbeat. Beyond it those that are
    /// silent for so long are closed.
    pub share_idle_ms: u64,
    /// The same while all places are taken: a newcomer waits in the kernel's queue behind those who fill it, so long for each round of
    /// them.
    pub full_share_idle_ms: u64,
}

impl Default for RpcLimits {
    fn default() -> Self {
        Self {
            max_frame_bytes: 64 << 20,
            max_connections: 10_000,
            max_calls_in_flight: 100,
            write_timeout_ms: 60_000,
            frame_timeout_ms: 60_000,
            idle_client_ms: 120_000,
            idle_tracker_ms: 1_200_000,
            waiting_calls: 1_024,
            waiting_call_bytes: 128 << 20,
            waiting_heartbeat_bytes: 512 << 20,
            unread_bytes: 256 << 20,
            held_bytes: 64 << 20,
            short_patience_ms: 5_000,
            full_idle_client_ms: 20_000,
            share_idle_ms: 5_000,
            full_share_idle_ms: 200,
        }
    }
}
