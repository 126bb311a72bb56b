"""Sends messages of alerts: over HTTP and SMTP, to allowed addresses alone, without following redirections."""

from __future__ import annotations

import os
import smtplib
import socket
import ssl
from pathlib import Path
from typing import Any, Final

import httpx

from replicator.alerts.messages import Message, email, pagerduty, slack, webhook
from replicator.alerts.route import Email, Http, Route, shown_address
from replicator.errors import ConfigError, ProcessError
from replicator.net import connections
from replicator.net.http_transport import CheckedTransport

TIMEOUT: Final = 10.0
"""Seconds for connecting, and for each answer."""


def deliver(route: Route, message: Message) -> None:
    """Returns when the receiver has accepted the message. Raises ProcessError E5183."""
    try:
        if isinstance(route.to, Email):
            _mail(route.to, message)
        else:
            _post(route, route.to, message)
    except ProcessError:
        raise
    except ConfigError as error:  # an address that is not allowed
        raise _failed(route, f"{error.code} {error.what}", fix=error.fix) from None
    except (httpx.HTTPError, httpx.InvalidURL, smtplib.SMTPException, OSError, ValueError) as error:
        raise _failed(route, _reason(error)) from None


def resolved(reference: str) -> str:
    """The secret, read now: a file that has changed counts at once. Raises ProcessError E5183, without the secret."""
    kind, _, name = reference.partition(":")
    if kind == "env":
        found = os.environ.get(name, "")
        where = f"the environment variable {name}"
    else:
        where = f"the file {name}"
        try:
            found = Path(name).read_text().strip()
        except (OSError, UnicodeDecodeError):
            found = ""
    if not found:
        raise ProcessError("E5183", f"{where} with a secret of a route can't be used", found="absent or empty")
    return found


def _post(route: Route, to: Http, message: Message) -> None:
    url = resolved(to.url) if to.url.startswith(("env:", "file:")) else to.url
    headers: dict[str, str] = {}
    body: dict[str, Any]
    if route.kind == "pagerduty":
        body = pagerduty(message, resolved(to.key))
    elif route.kind == "slack":
        body = slack(message)
    else:
        body = webhook(message)
        headers = {"authorization": f"Bearer {resolved(to.key)}"} if to.key else {}
    transport = CheckedTransport(_context(to.ca_file))
    with httpx.Client(transport=transport, timeout=TIMEOUT, trust_env=False, follow_redirects=False) as client:
        answer = client.post(url, json=body, headers={**headers, "user-agent": "mysql-replicator"})
    if not answer.is_success:
        what = "a redirection, which is not followed" if answer.is_redirect else answer.text[:200]
        raise _failed(route, f"HTTP {answer.status_code}: {what}".rstrip(": "))


def _mail(to: Email, message: Message) -> None:
    mail = email(message, to)
    password = resolved(to.password) if to.password else ""
    connection = connections.connect(to.host, to.port, TIMEOUT)
    if to.tls == "tls":
        connection = _over_tls(connection, to)
    with smtplib.SMTP(timeout=TIMEOUT) as client:
        client.sock = connection
        code, said = client.getreply()
        if code != 220:
            raise smtplib.SMTPConnectError(code, said)
        client.ehlo()
        if to.tls == "starttls":
            _start_tls(client, to)
        if to.user:
            client.login(to.user, password)
        refused = client.send_message(mail)
        if refused:
            raise smtplib.SMTPRecipientsRefused(refused)


def _start_tls(client: smtplib.SMTP, to: Email) -> None:
    """As `starttls` does, over a connection that smtplib has not opened."""
    if not client.has_extn("starttls"):
        raise smtplib.SMTPNotSupportedError("the server offers no STARTTLS, and nothing is sent without it")
    code, said = client.docmd("STARTTLS")
    if code != 220:
        raise smtplib.SMTPResponseException(code, said)
    assert client.sock is not None  # noqa: S101
    client.sock = _over_tls(client.sock, to)
    client.file = None
    client.ehlo()


def _over_tls(connection: socket.socket, to: Email) -> socket.socket:
    try:
        return _context(to.ca_file).wrap_socket(connection, server_hostname=to.host)
    except BaseException:
        connection.close()
        raise


def _context(ca_file: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_file or None)


def _reason(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        said = error.smtp_error.decode(errors="replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
        return f"SMTP {error.smtp_code}: {said}"[:200]
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return f"the server refused {', '.join(error.recipients)}"[:200]
    return (str(error) or type(error).__name__)[:200]


def _failed(route: Route, found: str, fix: str = "") -> ProcessError:
    what = f"the route '{route.name}' did not accept a message ({shown_address(route)})"
    return ProcessError("E5183", what, found=found, fix=fix)
