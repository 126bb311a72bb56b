"""Client of a schema registry with Confluent's HTTP interface."""

from __future__ import annotations

import ssl
from typing import Final, TypeVar

import httpx
import msgspec

from replicator.config.avro import SchemaRegistry
from replicator.config.secrets import resolve
from replicator.config.tls import Tls
from replicator.encode.avro.answer import Answer, ask, failure, shown_schema
from replicator.errors import ConfigError, RegistryError, RegistryUnavailable
from replicator.model.decoding import from_json
from replicator.net import tls
from replicator.net.http_transport import CheckedTransport

_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_MISSING: Final = frozenset({40401, 40402, 40403})
"""Codes of the registry: no such subject, version, schema. A 404 without them is a path that is not its."""
_BUSY: Final = frozenset({408, 429})


T = TypeVar("T")


class _Id(msgspec.Struct):
    id: int


class _Schema(msgspec.Struct):
    schema: str


class Registry:
    """Schemas -> ids. Nothing is connected before the first question; secrets are resolved then.

    Ids are remembered, as a registry never gives one again. Every method raises RegistryUnavailable (E3301), and
    RegistryError: E3304, it denies access; E3303, it refuses what we ask; ConfigError E1006 for a secret or a file
    that can't be had, E1050 for an address that is not allowed.
    """

    def __init__(self, options: SchemaRegistry) -> None:
        self._options = options
        self._client: httpx.Client | None = None
        self._ids: dict[tuple[str, str], int] = {}

    def id(self, subject: str, schema: str) -> int:
        """The id of `schema` (JSON) under `subject`, where it is registered if it is not there and that is allowed.

        Raises RegistryError: E3302, it is not compatible with what the subject has; E3305, it is not there and may not
        be registered.
        """
        key = subject, schema
        if key not in self._ids:
            self._ids[key] = self._register(subject, schema) if self._options.auto_register else self._find(*key)
        return self._ids[key]

    def schema(self, number: int) -> str:
        """The schema with this id."""
        return self._answer(self._ask("GET", f"/schemas/ids/{number}"), f"schema {number}", _Schema).schema

    def latest(self, subject: str) -> str | None:
        """The subject's last schema; None: it has none."""
        response = self._ask("GET", f"/subjects/{_path(subject)}/versions/latest")
        return None if _missing(response) else self._answer(response, f"subject {subject}", _Schema).schema

    def subjects(self) -> list[str]:
        return self._answer(self._ask("GET", "/subjects"), "the list of subjects", list[str])

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _register(self, subject: str, schema: str) -> int:
        response = self._ask("POST", f"/subjects/{_path(subject)}/versions", {"schema": schema})
        if response.status == httpx.codes.CONFLICT:
            raise self._incompatible(subject, schema, response)
        return self._answer(response, f"subject {subject}", _Id, schema).id

    def _find(self, subject: str, schema: str) -> int:
        response = self._ask("POST", f"/subjects/{_path(subject)}", {"schema": schema})
        if _missing(response):
            raise RegistryError(
                "E3305",
                f"the schema registry does not have the schema under {subject}",
                found=shown_schema(self.latest(subject)),
                wanted=schema,
                fix="Register it, or set `schema_registry.auto_register: true`.",
            )
        return self._answer(response, f"subject {subject}", _Id, schema).id

    def _incompatible(self, subject: str, schema: str, response: Answer) -> RegistryError:
        """Both schemas, and what the registry has against it."""
        return RegistryError(
            "E3302",
            f"the schema registry refuses the new version of {subject}: {response.message}",
            found=shown_schema(self.latest(subject)),
            wanted=schema,
            fix=f"Lower the compatibility level of the subject (PUT /config/{subject}, for instance NONE), register it "
            "manually, or revert the change of the table; then retry the task.",
        )

    def _answer(self, response: Answer, about: str, kind: type[T], schema: str = "") -> T:
        if response.is_success:
            try:
                return from_json(response.content, kind)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                found = f"HTTP {response.status} without the JSON of a registry"
                raise RegistryError("E3303", "the server that answers is not a schema registry", found=found) from None
        found = f"HTTP {response.status} {response.message}"
        if response.status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise RegistryError("E3304", f"the schema registry denies access to {about}", found=found)
        raise RegistryError("E3303", f"the schema registry refuses {about}", found=found, wanted=schema)

    def _ask(self, method: str, path: str, body: dict[str, str] | None = None) -> Answer:
        """The answer of the first server that has one."""
        client = self._connected()
        failed = "no server"
        for url in self._options.urls:
            try:
                response = ask(client, method, url + path, body, self._options.timeout_s)
            except httpx.RequestError as error:
                failed = failure(url, error)
                continue
            if response.status < httpx.codes.INTERNAL_SERVER_ERROR and response.status not in _BUSY:
                return response
            failed = f"{url}: HTTP {response.status} {response.message}"
        raise RegistryUnavailable("E3301", "the schema registry does not answer", found=failed)

    def _connected(self) -> httpx.Client:
        if self._client is None:
            options = self._options
            auth = (options.user, resolve(options.password)) if options.user and options.password else None
            self._client = httpx.Client(
                auth=auth,
                headers={"Content-Type": _TYPE, "Accept": f"{_TYPE}, application/json"},
                timeout=options.timeout_s,
                transport=CheckedTransport(_trust(options)),
                trust_env=False,
            )
        return self._client


def probe(options: SchemaRegistry) -> int:
    """How many subjects it has. Raises what `Registry` does."""
    registry = Registry(options)
    try:
        return len(registry.subjects())
    finally:
        registry.close()


def _trust(options: SchemaRegistry) -> ssl.SSLContext:
    try:
        return tls.context(options.tls or Tls.model_validate({}))
    except tls.FilesUnusable as error:
        raise ConfigError(
            "E1006",
            "a file of `schema_registry.tls` can't be used",
            found=str(error),
            wanted="PEM files",
            fix="Correct `sink.debezium.schema_registry.tls`, or create the file on every host whose Core may run "
            "the task.",
        ) from error


def _path(subject: str) -> str:
    """Topics have nothing that paths have not, but for what could lead out of them."""
    return subject if subject.strip(".") else subject.replace(".", "%2E")


def _missing(response: Answer) -> bool:
    return response.status == httpx.codes.NOT_FOUND and response.code in _MISSING
