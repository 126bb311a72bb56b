"""Requests to the Server for a person who is logged in here, with that person's own login and never with another."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import msgspec

from replicator.cli.task import client_tls
from replicator.errors import ProcessError, ReplicatorError
from replicator.host.network import is_loopback
from replicator.model.decoding import from_json
from replicator.net.http_transport import CheckedTransport

MOST_BYTES: Final = 8 << 20
"""Of an answer: 1,000 entries of the audit have about 1 MB."""
_CONNECT_SECONDS: Final = 3.0
_SECONDS: Final = 15.0
_THREADS: Final = 8


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """
    Attributes:
        status: of HTTP; 0: the Server did not answer.
        error: what, found, wanted and fix of a request that failed, with its code; {} for one that did not.
        unknown: whether the command was carried out is not known.
        replayed: it is the answer to an earlier request with the same key.
    """

    status: int
    content: dict[str, Any] = {}
    error: dict[str, str] = {}
    unknown: bool = False
    replayed: bool = False


def check_way(server: str, *, insecure: bool) -> None:
    """Logins of people are not sent over the network as they are, unless the operator says so. Raises ProcessError
    E5021."""
    parts = urlsplit(server)
    if parts.scheme == "http" and not is_loopback(parts.hostname or "") and not insecure:
        raise ProcessError(
            "E5021",
            f"logins would be sent to {server} unencrypted",
            wanted="https://, or a Server on this machine",
            fix="Start the Server with --tls-certificate, or allow it: export REPLICATOR_INSECURE_HTTP=1",
        )


class ServerApi:
    """Of the event loop, which it never blocks: requests are sent in threads. Follows no redirection, keeps no cookie.

    Args:
        server: http(s)://HOST:PORT.
        tls: verifies the Server's certificate, and has the Monitor's own, if there is one; None for plain HTTP.
        seconds: after which a request has failed.
    """

    def __init__(self, server: str, tls: ssl.SSLContext | None = None, seconds: float = _SECONDS) -> None:
        self.server = server.rstrip("/")
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(_THREADS, "server")
        self._http = httpx.Client(
            base_url=f"{self.server}/api/v1",
            transport=CheckedTransport(tls or ssl.create_default_context()),
            timeout=httpx.Timeout(seconds, connect=min(_CONNECT_SECONDS, seconds)),
            follow_redirects=False,
            trust_env=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._http.close()

    async def ask(
        self,
        method: str,
        path: str,
        *,
        authorization: str,
        address: str,
        body: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        version: int | None = None,
        key: str = "",
    ) -> Answer:
        """
        Args:
            path: below /api/v1, escaped.
            authorization: of the person: a request without one could count as that of the Monitor's certificate.
            address: of the person's browser, for the audit.
            version: for If-Match; key: for Idempotency-Key.
        """
        assert authorization  # noqa: S101
        headers = {"authorization": authorization, "x-replicator-user": _says(address)}
        if version is not None:
            headers["if-match"] = f'"{version}"'
        if key:
            headers["idempotency-key"] = key
        request = self._http.build_request(method, path, json=body, params=params, headers=headers)
        changing = method != "GET" and (params or {}).get("dry_run") != "true"
        sent = asyncio.get_running_loop().run_in_executor(self._threads, self._send, request, changing)
        try:
            return await asyncio.wait_for(sent, self._seconds + 1)
        except TimeoutError:
            return self._silent(changing)

    def _send(self, request: httpx.Request, changing: bool) -> Answer:
        until = time.monotonic() + self._seconds
        try:
            answer = self._http.send(request, stream=True)
            try:
                return self._read(answer, until, changing)
            finally:
                answer.close()
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return self._failed(error, unknown=False)  # nothing was sent
        except httpx.TimeoutException:
            return self._silent(changing)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return self._failed(error, unknown=changing)
        except ReplicatorError as error:  # E1050: the lists of addresses do not allow it
            return Answer(status=0, error=error.to_dict())

    def _read(self, answer: httpx.Response, until: float, changing: bool) -> Answer:
        data = b""
        for chunk in answer.iter_bytes():
            data += chunk
            if len(data) > MOST_BYTES or time.monotonic() > until:
                return self._silent(changing)
        replayed = answer.headers.get("idempotency-replayed") == "true"
        if answer.status_code == 204:
            return Answer(status=204, replayed=replayed)
        try:
            content = from_json(data, dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError):
            content = {}
        error = content.get("error")
        if answer.status_code >= 400 and isinstance(error, dict):
            texts = {str(key): str(value) for key, value in error.items()}
            unknown = changing and answer.status_code >= 500 and texts.get("code") != "E4001"
            return Answer(status=answer.status_code, error=texts, unknown=unknown, replayed=replayed)
        if answer.status_code >= 300 or "apiVersion" not in content:
            found = f"HTTP {answer.status_code} without the JSON of a Server"
            what = f"the process that answers at {self.server} is not a Server"
            return _as_answer(ProcessError("E5005", what, found=found, fix="Correct --server of the Monitor."))
        return Answer(status=answer.status_code, content=content, replayed=replayed)

    def _silent(self, changing: bool) -> Answer:
        what = f"the Server at {self.server} did not answer in time"
        fix = "Check that the Server runs; then send the request again."
        return _as_answer(ProcessError("E5005", what, found=f"no answer for {self._seconds:g} s", fix=fix), changing)

    def _failed(self, error: Exception, *, unknown: bool) -> Answer:
        about_tls = client_tls.explained(self.server, error)
        if about_tls is not None:
            return _as_answer(about_tls, unknown)
        what, found = f"the Server at {self.server} can't be reached", str(error) or "it closed the connection"
        fix = "Check that the Server runs, and --server of the Monitor."
        return _as_answer(ProcessError("E5005", what, found=found, fix=fix), unknown)


def _as_answer(error: ProcessError, unknown: bool = False) -> Answer:
    return Answer(status=0, error=error.to_dict(), unknown=unknown)


def _says(address: str) -> str:
    return f"Monitor {socket.gethostname()} for {address}".encode("ascii", "replace").decode()[:100]
