"""Reads the fields of a form."""

from __future__ import annotations

import hmac
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request

from monitor.sessions import Session

MOST: Final = 8192
"""Bytes."""


async def fields(request: Request, most: int = MOST) -> dict[str, str] | None:
    """Fields that are given once; None: it is too large or not a form."""
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                return None
        found = parse_qs(body.decode(), strict_parsing=True, max_num_fields=20)
    except (ClientDisconnect, UnicodeDecodeError, ValueError):
        return None
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def is_of(session: Session, given: dict[str, str] | None) -> bool:
    """Whether the form was made for this session."""
    return hmac.compare_digest((given or {}).get("csrf", "").encode(errors="replace"), session.csrf.encode())
