//! Containers of applications on the built-in worker: what only the program itself shows.

mod as_users;
mod fake_jobtracker;
mod left_behind;
