//! Runs of the simulator, and that the laws can fail.
