"""Backup and restore of the tree in ZooKeeper: one file with the state of all tasks."""
