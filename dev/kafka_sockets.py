"""Sockets for consumers of kafka-python that are closed when their connection attempt fails.

The library leaves them to the garbage collector, in reference cycles: an outage of some minutes with its steady
attempts would eat the descriptors of a checker that runs for hours. Its hook for proxies lets us stand in between.
"""

from __future__ import annotations

from typing import Any

from kafka.net.inet import KafkaNetSocket

PROXY_URL = "direct://"
"""The `proxy_url` setting that selects these sockets; no proxy is involved."""


class ClosingSocket(KafkaNetSocket):
    """Connects as the library does without a proxy."""

    SCHEMES = ("direct",)

    async def sock_connect(self, net: Any, sock: Any, sockaddr: Any, timeout_at: float | None = None) -> Any:
        try:
            return await super().sock_connect(net, sock, sockaddr, timeout_at=timeout_at)
        except BaseException:
            sock.close()
            raise
