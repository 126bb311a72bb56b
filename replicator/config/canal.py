"""Options of format canal: each with its counterpart's default."""

from __future__ import annotations

from replicator.config.base import Model


class CanalOptions(Model):
    pass
