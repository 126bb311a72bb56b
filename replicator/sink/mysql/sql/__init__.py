"""Row images as SQL statements, for accounts that may not execute BINLOG."""
