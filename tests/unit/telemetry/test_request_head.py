"""Request heads: any head that two parsers could split in different ways is refused."""

from __future__ import annotations

import h11
from hypothesis import given
from hypothesis import strategies as st

from replicator.telemetry.request_head import MAX_HEAD, fault, incomplete, split

PIECES = st.sampled_from(
    [
        b"GET / HTTP/1.1",
        b"Host: a",
        b"Content-Length: 3",
        b"Transfer-Encoding: chunked",
        b"\r\n",
        b"\n",
        b"\r",
        b" ",
        b"\t",
        b"x",
        b":",
        b"\0",
    ]
)


@given(st.lists(PIECES, max_size=14).map(b"".join))
def test_what_passes_is_what_h11_reads(text: bytes) -> None:
    """One request, of the same fields, with one length at most."""
    parts = split(text)
    if parts is None or fault(parts[0]) is not None:
        return
    head = parts[0]
    lines = head.split(b"\r\n")
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(head)
    try:
        event = connection.next_event()
    except h11.RemoteProtocolError:
        return  # h11 refuses more
    assert isinstance(event, h11.Request) and not connection.trailing_data[0]
    assert len(event.headers) == len(lines) - 3
    assert sum(name in (b"content-length", b"transfer-encoding") for name, _ in event.headers) <= 1


def test_incomplete_heads_are_bounded() -> None:
    assert incomplete(b"GET / HTTP/1.1\r\nHost: " + b"x" * 100) is None
    found = incomplete(b"x" * (MAX_HEAD + 1))
    assert found is not None and found.status == 431
    assert split(b"GET / HTTP/1.1\r\n") is None
    assert split(b"a\r\n\r\nb") == (b"a\r\n\r\n", b"b")
