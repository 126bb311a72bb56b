"""Connections that write at once.

kafka-python's loop comes around twice before a request leaves: to ask whether the socket takes anything, which it
nearly always does, and to write. For a small request that is most of its way.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport


class EagerTransport(KafkaTCPTransport):  # type: ignore[misc]
    """What a plain connection becomes: what the socket takes leaves here, the rest as the library does it."""

    def write(self, data: Any) -> None:
        if self._busy or not data:
            super().write(data)
        else:
            self._write_buffer.append(data)
            self._leave()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        if self._busy:
            super().writelines(list_of_data)
        else:
            self._write_buffer.extend(list_of_data)
            self._leave()

    @property
    def _busy(self) -> bool:
        return bool(self._writing or self._write_buffer or self._closed or not self._write)

    def _leave(self) -> None:
        _, error = self._sock_send()
        self.last_write = time.monotonic()
        if error is not None:
            # Who writes is in the middle of a request: the connection ends when the loop comes around.
            self._writing = True
            self._net.call_soon(lambda: self.abort(error=error))
        elif self._write_buffer:
            self._writing = True
            self._write_task = self._net.call_soon(self._write_to_sock)


class EagerTLSTransport(EagerTransport, KafkaSSLTransport):  # type: ignore[misc]
    """What one with TLS becomes. 16 KB leave at a time; the library copies what is left of a batch each time, where it
    is not a view."""

    def write(self, data: Any) -> None:
        super().write(memoryview(data))

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        super().writelines([memoryview(data) for data in list_of_data])


_EAGER = {KafkaTCPTransport: EagerTransport, KafkaSSLTransport: EagerTLSTransport}


def hasten(transport: Any) -> None:
    """From now on it writes at once. A transport of another kind stays as it is."""
    kind = _EAGER.get(type(transport))
    if kind is not None:
        transport.__class__ = kind
