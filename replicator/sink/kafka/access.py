"""How the sink's clients get in: TLS, login, and what it means when no broker lets them."""

from __future__ import annotations

import ssl
from typing import Any, Final

from replicator.config.addresses import addresses
from replicator.config.secrets import resolve
from replicator.config.task import KafkaSink
from replicator.config.tls import Tls
from replicator.errors import SinkError
from replicator.net import tls
from replicator.sink.kafka.knock import UNSUPPORTED_MECHANISM, Door, Nonsense, is_final, understands
from replicator.sink.kafka.sockets import ClosingTLSSocket

_PROTOCOLS: Final = {
    (False, False): "PLAINTEXT",
    (True, False): "SSL",
    (False, True): "SASL_PLAINTEXT",
    (True, True): "SASL_SSL",
}
_CA = "Set `sink.tls.ca` to the authority of the broker's certificate, `sink.bootstrap_servers` to a name in it."
_CERT = "Set `sink.tls.cert` and `sink.tls.key`: the broker wants a certificate of ours that it trusts."
_LISTENER = "Name the brokers' encrypted listener in `sink.bootstrap_servers`, or remove `sink.tls`."


def settings(config: KafkaSink) -> dict[str, Any]:
    """Of the client. Files and secrets are read anew each time: what was changed counts from the next client on.

    Raises SinkError E3110, ConfigError E1006: files, or the secret, can't be had.
    """
    sasl = config.sasl
    found: dict[str, Any] = {"security_protocol": _PROTOCOLS[config.tls is not None, sasl is not None]}
    if config.tls is not None:
        try:
            context = tls.context(config.tls)
        except tls.FilesUnusable as error:
            what, wanted = "the files of `sink.tls` can't be used", "readable PEM files"
            raise SinkError("E3110", what, found=str(error), wanted=wanted) from error
        context.sslsocket_class = ClosingTLSSocket
        found["ssl_context"] = context
    if sasl is not None:
        found["sasl_mechanism"] = sasl.mechanism
        found["sasl_plain_username"] = sasl.user
        found["sasl_plain_password"] = resolve(sasl.password)
    return found


def certificate_days(config: KafkaSink) -> dict[str, float]:
    """host:port of the bootstrap servers that answer -> days until the certificate ends that it shows."""
    found: dict[str, float] = {}
    for host, port in addresses(config.bootstrap_servers) if config.tls is not None else ():
        try:
            with Door(host, port, config.tls) as door:
                days = door.certificate_days
        except (OSError, tls.FilesUnusable):
            continue
        if days is not None:
            found[f"{host}:{port}"] = days
    return found


def refusal(config: KafkaSink) -> SinkError | None:
    """Why a bootstrap server does not let us in, if it is for good: of the first that has such a reason. To be asked
    when no client could be made: None says that they can't be reached, or may let us in soon."""
    return next(filter(None, (_refusal(config, *address) for address in addresses(config.bootstrap_servers))), None)


def _refusal(config: KafkaSink, host: str, port: int) -> SinkError | None:
    where = f"{host}:{port}"
    try:
        with Door(host, port, config.tls) as door:
            return _no_login(config, where, door)
    except Nonsense:
        if config.tls is None and understands(host, port, Tls.model_validate({"insecure": True})):
            fix = "Add `sink.tls: {ca: /path/to/ca.pem}`, or name another listener in `sink.bootstrap_servers`."
            return SinkError("E3110", f"{where} takes encrypted connections only", found="no sink.tls", fix=fix)
    except ssl.SSLError as error:
        if not is_final(error):
            return _no_tls(where, error, _LISTENER) if understands(host, port, None) else None
        wants_ours = any(word in str(error) for word in ("CERTIFICATE_REQUIRED", "HANDSHAKE_FAILURE", "_ALERT_"))
        return _no_tls(where, error, _CERT if wants_ours else _CA)
    except OSError:
        return None
    return None


def _no_tls(where: str, error: ssl.SSLError, fix: str) -> SinkError:
    return SinkError("E3110", f"no encrypted connection to {where} could be made", found=str(error), fix=fix)


def _no_login(config: KafkaSink, where: str, door: Door) -> SinkError | None:
    sasl = config.sasl
    code, mechanisms = door.handshake(sasl.mechanism if sasl is not None else "")
    offered = ", ".join(mechanisms)
    if sasl is None:
        if code != UNSUPPORTED_MECHANISM:
            return None
        what, fix = f"{where} wants a login", "Add `sink.sasl: {mechanism, user, password}`."
        return SinkError("E3103", what, found="no sink.sasl", wanted=f"one of {offered}", fix=fix)
    if code == UNSUPPORTED_MECHANISM:
        what, fix = f"{where} knows no login by {sasl.mechanism}", "Set `sink.sasl.mechanism` to one of those."
        return SinkError("E3103", what, found=sasl.mechanism, wanted=offered, fix=fix)
    if code:
        fix = "Remove `sink.sasl`, or name another listener in `sink.bootstrap_servers`."
        return SinkError("E3103", f"{where} wants no login", found=f"error {code}", fix=fix)
    against = door.login(settings(config))
    if not against:
        return None
    what, fix = f"{where} does not let '{sasl.user}' in", "Correct `sink.sasl.user` / `sink.sasl.password`."
    return SinkError("E3103", what, found=against, fix=fix)
