//! Folders and files that another user of the machine has prepared for a daemon, which runs as root and as an ordinary user.

mod folders;
mod jobs;
