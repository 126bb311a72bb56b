"""Can this task run? Findings about source, sink and coordinator, each with the statement that mends it."""
