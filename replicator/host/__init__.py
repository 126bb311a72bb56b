"""The host that runs a task: what configurations may use of it, and how its files are opened."""
