//! A deterministic web on loopback with its own request log, for tests and benchmarks
