"""The routes under /api/v1, one module per kind of thing."""
