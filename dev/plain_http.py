"""HTTP without TLS, to processes of this machine.

httpx loads all certificate authorities for each client that is given no context, which takes longer than most answers.
"""

from __future__ import annotations

import ssl
from typing import Any

import httpx

PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Of clients that use plain HTTP: it trusts no certificate."""


def get(url: str, *, timeout: float = 30, **options: Any) -> httpx.Response:
    """Without the proxies of the environment. Raises httpx.HTTPError."""
    return httpx.get(url, timeout=timeout, verify=PLAIN, trust_env=False, **options)


def client(base_url: httpx.URL | str = "", *, timeout: float = 30, **options: Any) -> httpx.Client:
    return httpx.Client(base_url=base_url, timeout=timeout, verify=PLAIN, trust_env=False, **options)
