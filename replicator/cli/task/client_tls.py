"""TLS of the commands that use the Server: options, contexts, and what a failed connection means.

The options go into the environment, as they hold for every connection of a command.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from replicator.cli.contexts import CA_FILE, CERTIFICATE, KEY, tls_files
from replicator.errors import ProcessError

_EXPIRED: Final = (9, 10)
"""X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED."""
_OTHER_NAME: Final = (62, 64)
"""X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH."""
_REFUSED: Final = ("UNKNOWN_CA", "CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "CERTIFICATE_EXPIRED", "HANDSHAKE_FAILURE")
_NOT_TLS: Final = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")
_PROBE_SECONDS: Final = 2.0
F = TypeVar("F", bound=Callable[..., Any])


def tls_options(command: F) -> F:
    """Adds --ca-file, --client-certificate and --client-key."""
    for name, variable, meaning in (
        ("--client-key", KEY, "Key of --client-certificate (PEM), mode 600."),
        ("--client-certificate", CERTIFICATE, "Certificate (PEM) for a Server that requires one."),
        (
            "--ca-file",
            CA_FILE,
            "Authorities (PEM) that the certificate of the Server is verified with; default: those of the system.",
        ),
    ):
        command = click.option(
            name,
            envvar=variable,
            show_envvar=True,
            expose_value=False,
            callback=_keep(variable),
            type=click.Path(dir_okay=False, path_type=Path),
            help=meaning,
        )(command)
    return command


def _keep(variable: str) -> Callable[[click.Context, click.Parameter, Path | None], None]:
    def keep(_ctx: click.Context, _param: click.Parameter, value: Path | None) -> None:
        if value is not None:
            os.environ[variable] = str(value.absolute())

    return keep


def context(server: str) -> ssl.SSLContext:
    """That verifies certificate and name; there is no way to switch that off. With the files of options, environment or
    context (`contexts.tls_files`). Raises ProcessError E5080, E5081, E5093."""
    files = tls_files(server)
    ca, certificate, key = (each or None for each in (files.ca_file, files.client_certificate, files.client_key))
    try:
        made = ssl.create_default_context(cafile=ca)
    except (OSError, ValueError) as error:
        raise _unusable(f"the CA file {ca} can't be used", error, "certificates, PEM") from None
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    if key is not None and certificate is None:
        raise ProcessError("E5080", "--client-key without --client-certificate", fix="Give both.")
    if certificate is not None:
        from replicator.host.files import check_private  # here: few commands need it

        check_private(Path(key or certificate))
        try:
            made.load_cert_chain(certificate, key, password="")  # OpenSSL would ask the terminal for one
        except (OSError, ValueError) as error:
            what = f"the client certificate {certificate} can't be used with the key {key or certificate}"
            raise _unusable(what, error, "a certificate and its key, PEM") from None
    return made


def _unusable(what: str, error: Exception, wanted: str) -> ProcessError:
    found = error.strerror if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) else ""
    return ProcessError("E5080", what, found=found or "not such a file", wanted=wanted)


def explained(server: str, error: Exception) -> ProcessError | None:
    """What a failed connection to `server` means; None where it has nothing to do with TLS."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _not_verified(server, cause)
        if isinstance(cause, ssl.SSLError):
            found = _failed(server, cause.reason or "")
            if found is not None:
                return found
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _not_verified(server: str, error: ssl.SSLCertVerificationError) -> ProcessError:
    found = error.verify_message
    if error.verify_code in _OTHER_NAME:
        return ProcessError("E5087", f"the certificate of {server} has another name", found=found)
    if error.verify_code in _EXPIRED:
        return ProcessError("E5088", f"the certificate of {server} is not valid at present", found=found)
    return ProcessError("E5086", f"the certificate of {server} is not trusted", found=found)


def _failed(server: str, reason: str) -> ProcessError | None:
    if any(reason.endswith(each) for each in _REFUSED):
        what = f"{server} refuses the client certificate, or requires one"
        return ProcessError("E5086", what, found=reason.lower().replace("_", " "))
    if reason in _NOT_TLS:
        fix = f"Use http{server.removeprefix('https')}, or start the process with --tls-certificate."
        return ProcessError("E5089", f"{server} does not speak HTTPS", found="an answer without TLS", fix=fix)
    return None


def speaks_tls(host: str, port: int) -> bool:
    """Whether a server that did not answer HTTP expects TLS. Nothing is sent but a handshake."""
    probe = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    probe.check_hostname, probe.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((host, port), _PROBE_SECONDS) as connection, probe.wrap_socket(connection):
            return True
    except (OSError, ValueError):
        return False


def https_wanted(server: str) -> ProcessError:
    fix = f"Use https{server.removeprefix('http')}."
    return ProcessError("E5089", f"{server} speaks HTTPS", found="a request without TLS", fix=fix)
