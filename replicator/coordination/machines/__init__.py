"""The records of machines in ZooKeeper."""
