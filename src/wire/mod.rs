//! Hadoop 1.2.1 wire and file formats: bytes to values and back, no I/O.
