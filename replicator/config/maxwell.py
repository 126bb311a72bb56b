"""Options of format maxwell: each with its counterpart's default."""

from __future__ import annotations

from replicator.config.base import Model


class MaxwellOptions(Model):
    pass
