//! Hadoop configuration files into typed settings.
