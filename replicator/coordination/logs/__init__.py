"""The last log lines of processes, fetched through the tree."""
