"""Hostile bytes for both decoders: `python -m dev.fuzz`."""
