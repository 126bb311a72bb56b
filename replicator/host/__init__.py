"""Resources of the host that tasks may use, and safe access to its files."""
