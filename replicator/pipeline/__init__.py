"""The pipeline of a task: sessions, reading, delivery, positions."""
