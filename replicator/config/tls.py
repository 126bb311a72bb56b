"""TLS towards a server that we are a client of."""

from __future__ import annotations

from pydantic import Field

from replicator.config.base import Model


class Tls(Model):
    ca: str | None = Field(None, description="path of a PEM file with the authorities to trust; default: the system's")
    cert: str | None = Field(None, description="path of our certificate (PEM)")
    key: str | None = Field(None, description="path of its key (PEM)")
    insecure: bool = Field(False, description="do not verify the server; shown in red everywhere")
