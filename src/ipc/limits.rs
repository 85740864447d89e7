//! Limits on clients.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RpcLimits {
    /// Maximum frame size, bytes: `jobtracker.rpc.max-frame-bytes`.
    pub max_frame_bytes: usize,
    /// Maximum open connections; further ones are not accepted: `jobtracker.rpc.max-connections`.
    pub max_connections: usize,
    /// Maximum unanswered calls of one connection; further ones are not read:
    /// `jobtracker.rpc.max-calls-in-flight`.
    pub max_calls_in_flight: u32,
    /// A client that reads less than 64 KiB of its pending answers in this time is dropped:
    /// `jobtracker.rpc.write-timeout-ms`.
    pub write_timeout_ms: u64,
    /// Timeout for completing an opening, or a frame that has started.
    pub frame_timeout_ms: u64,
    /// While more than half of the places are taken, a client that is silent for so long is dropped.
    pub idle_client_ms: u64,
    /// The same for connections of trackers.
    pub idle_tracker_ms: u64,
    /// Queued calls of clients, over all connections.
    pub waiting_calls: usize,
    /// Bytes of incomplete or unanswered clients' calls, over all connections. Beyond it each client gets one short
    /// call at a time.
    pub waiting_call_bytes: usize,
    /// Bytes of incomplete trackers' calls, over all connections. Beyond it long ones wait in the socket.
    pub waiting_heartbeat_bytes: usize,
    /// Bytes of answers that clients have not read, over all connections. Beyond it no further long answer is built.
    pub unread_bytes: usize,
    /// Bytes of answers that wait for the store, over all connections; beyond it queries are delayed.
    pub held_bytes: usize,
    /// Shortened timeout for connections that block others, by the bytes above or by the last place: for an opening, an
    /// incomplete frame, an unread answer.
    pub short_timeout_ms: u64,
    /// While all places are taken, a client that is silent for so long is dropped. Stock clients close after ten
    /// seconds of silence by themselves.
    pub full_idle_client_ms: u64,
    /// Connections without a heartbeat beyond an address's share, a quarter of the places, are closed after so much
    /// silence.
    pub share_idle_ms: u64,
    /// The same while all places are taken: a new connection waits that long in the kernel's queue for each round of
    /// those before it.
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
            short_timeout_ms: 5_000,
            full_idle_client_ms: 20_000,
            share_idle_ms: 5_000,
            full_share_idle_ms: 200,
        }
    }
}
