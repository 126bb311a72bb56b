"""Rows per second and memory of our path beside the plain packages, over the same binlog into the same Kafka."""
