//! The state database, budget images and job history files.
