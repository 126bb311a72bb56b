"""Security settings of connections to brokers: TLS and login."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Final

from replicator.kafka.sasl import Sasl


@dataclass(frozen=True)
class Security:
    """
    Attributes:
        tls: context with the files loaded; None: not encrypted. The broker's certificate is compared with the name that
            the connection was made to, as the context says.
        sasl: None: no login.
    """

    tls: ssl.SSLContext | None = None
    sasl: Sasl | None = None


PLAINTEXT: Final = Security()
