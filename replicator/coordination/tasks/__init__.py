"""The records of a task in ZooKeeper: configuration, lastCommit, status, commands, history, positions."""
