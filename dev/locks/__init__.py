"""Compares locks in Redis and in ZooKeeper, with real servers: `python -m dev.locks` writes docs/locks.md."""
