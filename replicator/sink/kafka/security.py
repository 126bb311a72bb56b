"""TLS and login settings of the sink's connections, from the configuration."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any, Final

from kafka.net.sasl.oauth import AbstractTokenProvider  # the class that kafka-python's option asks for by this name

from replicator.config.kafka_source import KafkaSource
from replicator.config.programs import printed
from replicator.config.sasl import Sasl as SaslConfig
from replicator.config.secrets import resolve
from replicator.config.task import KafkaSink
from replicator.errors import ReplicatorError, SinkError
from replicator.host import access, commands
from replicator.kafka.sasl import Bearer, Password, TokenUnavailable
from replicator.kafka.security import Security
from replicator.net import tls
from replicator.sink.kafka import checked_socket

_PROTOCOLS: Final = {
    (False, False): "PLAINTEXT",
    (True, False): "SSL",
    (False, True): "SASL_PLAINTEXT",
    (True, True): "SASL_SSL",
}


def security(config: KafkaSink | KafkaSource) -> Security:
    """For our own connections. Files and passwords are read each time: a change applies from the next call on; tokens
    are fetched for each login.

    Raises:
        SinkError: E3110, files of `tls` can't be used.
        ConfigError: E1006, E1012, the password can't be had.
    """
    return Security(_context(config) if config.tls is not None else None, _sasl(config.sasl) if config.sasl else None)


def library_settings(config: KafkaSink) -> dict[str, Any]:
    """The same for clients of kafka-python. Raises as `security`."""
    ours = security(config)
    found: dict[str, Any] = {"security_protocol": _PROTOCOLS[ours.tls is not None, ours.sasl is not None]}
    found["proxy_url"] = checked_socket.URL
    if ours.tls is not None:
        ours.tls.sslsocket_class = _ClosingSocket
        found["ssl_context"] = ours.tls
    if ours.sasl is not None:
        found["sasl_mechanism"] = ours.sasl.mechanism
    if isinstance(ours.sasl, Password):
        found |= {"sasl_plain_username": ours.sasl.user, "sasl_plain_password": ours.sasl.password}
    elif isinstance(ours.sasl, Bearer):
        found["sasl_oauth_token_provider"] = _TokenProvider(ours.sasl)
    return found


def _context(config: KafkaSink | KafkaSource) -> Any:
    assert config.tls is not None  # noqa: S101
    try:
        return tls.context(config.tls)
    except tls.FilesUnusable as error:
        what, wanted = f"the files of `{config.section}.tls` can't be used", "readable PEM files"
        raise SinkError("E3110", what, found=str(error), wanted=wanted) from error


def _sasl(sasl: SaslConfig) -> Password | Bearer:
    if sasl.mechanism == "OAUTHBEARER":
        return Bearer(_token_source(sasl), sasl.extensions)
    assert sasl.user is not None and sasl.password is not None  # noqa: S101
    return Password(sasl.mechanism, sasl.user, resolve(sasl.password))


def _token_source(sasl: SaslConfig) -> Callable[[], str]:
    def token() -> str:
        try:
            found = resolve(sasl.token) if sasl.token is not None else _printed(sasl.token_command or ())
        except ReplicatorError as error:
            raise TokenUnavailable(str(error), final=True) from error
        found = found.strip()
        if not found or not found.isascii() or not found.isprintable() or " " in found:
            raise TokenUnavailable("the token of `sink.sasl` is invalid: one line of printable ASCII is expected")
        return found

    return token


def _printed(command: tuple[str, ...]) -> str:
    """Raises ConfigError: it may not, or can't, be run; TokenUnavailable: it failed, which may pass."""
    fix = f"Install the program, executable for the user of {access.process_name()}, or correct `token_command`."
    try:
        return printed(command, prints="a token", fix=fix)
    except commands.CommandFailed as error:
        raise TokenUnavailable(f"the command {command[0]!r} printed no token: {error}") from None


class _ClosingSocket(ssl.SSLSocket):
    """Closed when its handshake fails; kafka-python leaves it to the garbage collector."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except BaseException:
            self.close()
            raise


class _TokenProvider(AbstractTokenProvider):
    def __init__(self, bearer: Bearer) -> None:
        self._bearer = bearer

    def token(self) -> str:
        return self._bearer.token()

    def extensions(self) -> dict[str, str]:
        return dict(self._bearer.extensions)
