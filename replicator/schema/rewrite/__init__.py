"""Rewrites DDL statements to the names of databases, tables and columns at a target. See DESIGN.md."""

from replicator.schema.rewrite.names import Added, Columns, Inherited, NoRewrite, Rewritten, TargetNames
from replicator.schema.rewrite.statement import rewrite

__all__ = ["Added", "Columns", "Inherited", "NoRewrite", "Rewritten", "TargetNames", "rewrite"]
