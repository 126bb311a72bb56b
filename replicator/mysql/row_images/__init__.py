"""Rows of prepared statements as row images of the binlog."""
