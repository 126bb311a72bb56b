"""Reasons for which a connection to a broker could not be made, or ended."""

from __future__ import annotations

from typing import Literal

Kind = Literal["resolve", "outgoing", "refused", "timeout", "closed", "tls", "authentication", "versions", "protocol"]


class ConnectionFailure(Exception):
    """The text is one line for people; it contains no secret.

    Attributes:
        kind: what failed; "outgoing": the address is not allowed, and the cause is the error that says so.
        final: trying again is in vain: a certificate, a login or the kind of listener is wrong. A broker that shuts
            down, or a network that drops packets, is not final.
        code: Kafka's error number where the broker sent one, else 0.
        reason: OpenSSL's symbol for what failed, as TLSV13_ALERT_CERTIFICATE_REQUIRED, else "".
        mechanisms: of SASL, where the broker named those that it accepts.
    """

    def __init__(
        self,
        kind: Kind,
        text: str,
        *,
        final: bool = False,
        code: int = 0,
        reason: str = "",
        mechanisms: tuple[str, ...] = (),
    ) -> None:
        super().__init__(text)
        self.kind = kind
        self.final = final
        self.code = code
        self.reason = reason
        self.mechanisms = mechanisms
