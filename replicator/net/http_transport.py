"""Makes httpx connect to allowed addresses only, each redirection included."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import httpx

from replicator.net import connections
from replicator.net.outgoing import AllowList


class CheckedTransport(httpx.BaseTransport):
    """Connects to the addresses that were compared with the lists, under the name of the URL: in the Host header, and
    in TLS, where the certificate has to carry it. Requests raise ConfigError E1050, and what httpx raises.

    Args:
        by: the lists; default: all of this process, as they are at the time of a request.
    """

    def __init__(self, verify: ssl.SSLContext, by: Callable[[], tuple[AllowList, ...]] = connections.lists) -> None:
        self._verify = verify
        self._by = by
        self._transports: dict[str, httpx.HTTPTransport] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        lists = self._by()
        transport = self._of(request.url.host)
        if not lists:
            return transport.handle_request(request)
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        try:
            found = connections.resolve(request.url.host, port, lists)
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error), request=request) from error
        failed: httpx.TransportError = httpx.ConnectError("the host has no address", request=request)
        for address in dict.fromkeys(str(each.sockaddr[0]) for each in found):
            try:
                return transport.handle_request(_to(request, address))
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failed = error
        raise failed

    def close(self) -> None:
        for transport in self._transports.values():
            transport.close()

    def _of(self, host: str) -> httpx.HTTPTransport:
        """One for each name: connections are kept by address, and certificates are verified by name."""
        if host not in self._transports:
            self._transports[host] = httpx.HTTPTransport(verify=self._verify, trust_env=False)
        return self._transports[host]


def _to(request: httpx.Request, address: str) -> httpx.Request:
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address.partition("%")[0]),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.raw_host.decode("ascii")},
    )
