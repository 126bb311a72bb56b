"""Probes the brokers to explain a failed connection, and to read the expiry dates of their certificates.

Some failures say nothing by themselves: a broker closes a connection whose first bytes it does not understand, and one
that has not logged in. So the probe also tries what the configuration does not say.
"""

from __future__ import annotations

import ssl
from typing import Final

from replicator.config.addresses import addresses
from replicator.config.kafka_source import KafkaSource
from replicator.config.sasl import Sasl
from replicator.config.task import KafkaSink
from replicator.errors import ReplicatorError, SinkError, SinkUnavailable
from replicator.kafka.blocking import BlockingConnection
from replicator.kafka.failure import ConnectionFailure
from replicator.kafka.handshake import ILLEGAL_SASL_STATE, UNSUPPORTED_MECHANISM
from replicator.kafka.messages import sasl as messages
from replicator.kafka.sasl import TokenUnavailable
from replicator.kafka.security import PLAINTEXT, Security
from replicator.net import tls
from replicator.sink.kafka.errors import describe, translate
from replicator.sink.kafka.security import security

SECONDS: Final = 3.0
_FINAL: Final = ("E1050", "E1051", "E3103", "E3110")
"""Codes of connections that are refused for good."""

_CA = "Set `sink.tls.ca` to the CA of the broker's certificate, and `sink.bootstrap_servers` to a name in it."
_CERT = "Set `sink.tls.cert` and `sink.tls.key`: the broker requires a client certificate that it trusts."
_LISTENER = "Set `sink.bootstrap_servers` to the encrypted listener of the brokers, or remove `sink.tls`."


def certificate_days(config: KafkaSink | KafkaSource) -> dict[str, float]:
    """host:port of the bootstrap servers that answer -> days until the certificate ends that it shows."""
    found: dict[str, float] = {}
    if config.tls is None:
        return found
    try:
        ours = Security(security(config.model_copy(update={"sasl": None})).tls)
    except ReplicatorError:
        return found
    for host, port in addresses(config.bootstrap_servers):
        try:
            with BlockingConnection(host, port, ours, timeout=SECONDS, request_timeout=SECONDS) as connection:
                days = tls.days_left(connection.connection.certificate)
        except ConnectionFailure:
            continue
        if days is not None:
            found[f"{host}:{port}"] = days
    return found


def refusal(config: KafkaSink) -> ReplicatorError | None:
    """Why a bootstrap server does not let us in, if it is for good: of the first that has such a reason. None: they
    can't be reached, or may let us in soon. Raises as `security.security`."""
    ours = security(config)
    found = (_refusal(config, ours, *address) for address in addresses(config.bootstrap_servers))
    return next((each for each in found if each is not None), None)


def no_connection(config: KafkaSink, error: Exception) -> ReplicatorError:
    """The error of ours for a client that could not be connected; probes the brokers for the reason."""
    brokers = ", ".join(config.bootstrap_servers)
    what = f"the login at {brokers} failed"
    refused = refusal(config)
    if refused is None and (translated := translate(error, what)).code in _FINAL:
        refused = translated
    if refused is not None:
        return refused
    if not (isinstance(error, ConnectionFailure) and error.kind == "authentication"):
        what = f"no broker answers at {brokers}"
    return SinkUnavailable("E3001", what, found=describe(error))


def _refusal(config: KafkaSink, ours: Security, host: str, port: int) -> ReplicatorError | None:
    where = f"{host}:{port}"
    failure = _try(host, port, ours)
    if failure is None:
        return _wants_login(where, host, port, ours) if ours.sasl is None else None
    if failure.kind == "outgoing":
        return translate(failure, where)
    if failure.kind == "authentication":
        return _no_login(config, where, failure)
    if ours.tls is None:
        return _takes_tls_only(where) if _understands(host, port, Security(_trusting())) else None
    if failure.kind == "tls" and failure.final:
        refused = "CERTIFICATE_REQUIRED" in failure.reason or "_ALERT_" in failure.reason
        if refused or "HANDSHAKE_FAILURE" in failure.reason:
            return _no_tls(where, failure, _CERT)
        return _no_tls(where, failure, _CA if failure.reason == "CERTIFICATE_VERIFY_FAILED" else _LISTENER)
    if failure.kind in ("tls", "closed") and _understands(host, port, PLAINTEXT):
        return _no_tls(where, failure, _LISTENER)
    return None


def _try(host: str, port: int, ours: Security) -> ConnectionFailure | None:
    try:
        BlockingConnection(host, port, ours, timeout=SECONDS, request_timeout=SECONDS).close()
    except ConnectionFailure as failure:
        return failure
    return None


def _understands(host: str, port: int, other: Security) -> bool:
    """Whether a broker answers there at all."""
    return _try(host, port, other) is None


def _trusting() -> ssl.SSLContext:
    """Accepts any certificate: nothing is said over it but what versions we know."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _takes_tls_only(where: str) -> SinkError:
    fix = "Add `sink.tls: {ca: /path/to/ca.pem}`, or set `sink.bootstrap_servers` to another listener."
    return SinkError("E3110", f"{where} accepts only encrypted connections", found="no sink.tls", fix=fix)


def _no_tls(where: str, failure: ConnectionFailure, fix: str) -> SinkError:
    return SinkError("E3110", f"no encrypted connection to {where} could be established", found=str(failure), fix=fix)


def _wants_login(where: str, host: str, port: int, ours: Security) -> SinkError | None:
    """A broker that wants a login answers ApiVersions without one, and no other request; it names the mechanisms when
    it is asked for one that does not exist."""
    try:
        with BlockingConnection(host, port, ours, timeout=SECONDS, request_timeout=SECONDS) as connection:
            body = messages.encode_handshake("")
            reader = connection.ask(messages.HANDSHAKE, 1, (body,), flexible=False)
            code, offered = messages.decode_handshake(reader)
    except (ConnectionFailure, ValueError):
        return None
    if code != UNSUPPORTED_MECHANISM:
        return None
    wanted, fix = f"one of {', '.join(offered)}", "Add `sink.sasl: {mechanism, user, password}`."
    return SinkError("E3103", f"{where} requires a login", found="no sink.sasl", wanted=wanted, fix=fix)


def _no_login(config: KafkaSink, where: str, failure: ConnectionFailure) -> ReplicatorError | None:
    sasl = config.sasl
    assert sasl is not None  # noqa: S101
    cause = failure.__cause__
    if isinstance(cause, TokenUnavailable) and isinstance(cause.__cause__, ReplicatorError):
        return cause.__cause__
    if not failure.final:
        return None
    if failure.code == UNSUPPORTED_MECHANISM:
        what, fix = f"{where} does not support logins by {sasl.mechanism}", "Set `sink.sasl.mechanism` to one of these."
        return SinkError("E3103", what, found=sasl.mechanism, wanted=", ".join(failure.mechanisms), fix=fix)
    if failure.code == ILLEGAL_SASL_STATE:
        fix = "Remove `sink.sasl`, or set `sink.bootstrap_servers` to another listener."
        return SinkError("E3103", f"{where} does not support logins", found=f"error {failure.code}", fix=fix)
    return _no_entry(sasl, where, failure)


def _no_entry(sasl: Sasl, where: str, failure: ConnectionFailure) -> SinkError:
    if sasl.mechanism == "OAUTHBEARER":
        what, fix = f"{where} does not accept the token", "Correct `sink.sasl.token`, or the output of `token_command`."
    else:
        what, fix = f"{where} refuses the login of '{sasl.user}'", "Correct `sink.sasl.user` / `sink.sasl.password`."
    return SinkError("E3103", what, found=str(failure), fix=fix)
