//! Jobs, tasks and attempts: turns jobs into request tables and grants into attempts. Pure.
