"""TLS settings for connections to servers."""

from __future__ import annotations

from pydantic import Field

from replicator.config.base import Model


class Tls(Model):
    ca: str | None = Field(
        None, description="path of a PEM file with trusted CA certificates; default: those of the system"
    )
    cert: str | None = Field(None, description="path of the client certificate (PEM)")
    key: str | None = Field(None, description="path of the key of the client certificate (PEM)")
    insecure: bool = Field(False, description="do not verify the server certificate")
