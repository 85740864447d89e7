"""Timestamps of signed requests: each later than the one before, by the server's clock."""

from __future__ import annotations

import threading
import time
from typing import Callable


def wall_clock_ms() -> int:
    """The clock of this machine, ms since the epoch."""
    return time.time_ns() // 1_000_000


class RequestClock:
    """Gives every request of one signer a timestamp of its own. Threads may share it."""

    def __init__(self, now_ms: Callable[[], int] = wall_clock_ms) -> None:
        self._now_ms = now_ms
        self._offset_ms = 0
        self._last_ms = 0
        self._last_used_ms = 0
        self._lock = threading.Lock()

    def next_ms(self) -> int:
        """A timestamp later than all before."""
        with self._lock:
            self._last_ms = max(self._now_ms() + self._offset_ms, self._last_ms + 1)
            return self._last_ms

    def mark_used(self, timestamp_ms: int) -> None:
        """The server has accepted this timestamp: it accepts none up to it any more."""
        with self._lock:
            self._last_used_ms = max(self._last_used_ms, timestamp_ms)

    def correct(self, server_time_ms: int) -> None:
        """The server has refused a timestamp and given its time: follow that clock."""
        with self._lock:
            self._offset_ms = server_time_ms - self._now_ms()
            # Refused timestamps may lie far ahead; only accepted ones bind.
            self._last_ms = self._last_used_ms
