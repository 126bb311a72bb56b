"""Records that the real Debezium 3.6.1 wrote, and the script that made them: see README.md."""
