"""TLS for connections to servers."""
