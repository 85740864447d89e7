//! File systems: local (and later `hdfs://`).
