"""The language of row filters: text -> tree. See DESIGN.md."""

from replicator.expression.parser import parse

__all__ = ["parse"]
