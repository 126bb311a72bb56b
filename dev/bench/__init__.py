"""Benchmarks: rows per second and memory of the data path, compared with plain packages, over the same binlog into the
same Kafka."""
