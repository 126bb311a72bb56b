"""Development tools: setup, real servers for tests, benchmarks and the demo."""
