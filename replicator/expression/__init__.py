"""The expression language of row filters. See DESIGN.md."""

from replicator.expression.parser import parse

__all__ = ["parse"]
