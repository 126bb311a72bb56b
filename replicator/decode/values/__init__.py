"""Conversions of column values: character sets, decimals, floating point, binary JSON, sizes."""
