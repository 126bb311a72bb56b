"""Configuration of the schema registry for Avro records."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from replicator.config.annotated import SecretRef
from replicator.config.base import Model
from replicator.config.tls import Tls
from replicator.host.network import is_loopback

Adjustment = Literal["none", "avro", "avro_unicode"]
Url = Annotated[str, Field(pattern=r"^https?://[^\s/@,?#]+(/[^\s@,?#]*)?$", max_length=1000)]


class SchemaRegistry(Model):
    """A registry with Confluent's HTTP interface."""

    url: Url | Annotated[tuple[Url, ...], Field(min_length=1, max_length=20)] = Field(
        description="http(s)://host:port/path of the registry, or a list of its servers"
    )
    user: str | None = Field(default=None, description="user for basic authentication; default: none")
    password: SecretRef | None = Field(
        None, description="password of the user: env:NAME, file:/path or command:PROGRAM"
    )
    tls: Tls | None = Field(default=None, description="TLS settings for https; default: CA certificates of the system")
    timeout_s: float = Field(default=10, gt=0, le=300, description="seconds to wait for an answer")
    auto_register: bool = Field(
        default=True, description="register schemas (auto.register.schemas); false: schemas must be registered already"
    )

    @property
    def urls(self) -> tuple[str, ...]:
        """Without a slash at the end."""
        given = (self.url,) if isinstance(self.url, str) else self.url
        return tuple(each.rstrip("/") for each in given)

    @model_validator(mode="after")
    def _sensible(self) -> SchemaRegistry:
        if (self.user is None) != (self.password is None):
            raise _wrong("schema_registry has only one of user and password", "both or none")
        if self.user is not None and not all(map(self._keeps_password, self.urls)):
            what = "schema_registry would send the password to a server that is not verified"
            raise _wrong(what, "https:// without tls.insecure, or a registry on this machine")
        return self

    def _keeps_password(self, url: str) -> bool:
        parts = urlsplit(url)
        verified = parts.scheme == "https" and not (self.tls and self.tls.insecure)
        return verified or is_loopback(parts.hostname or "")


def _wrong(what: str, wanted: str) -> PydanticCustomError:
    fields = {"code": "E1003", "what": what, "found": "", "wanted": wanted, "fix": ""}
    return PydanticCustomError("replicator", "{what}", fields)
