"""The coordinator in memory, for tests."""
