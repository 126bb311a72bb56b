"""A broker with a listener for every way in: encrypted, with certificates of both sides, with a login, with both."""

from __future__ import annotations

import base64
import json
import time
from typing import Any, Final

from dev.fetch.once import run
from dev.servers import Kafka
from dev.servers.authority import Authority
from dev.servers.kafka import random_uuid
from dev.servers.ports import free_port

USER, PASSWORD = "bus", "s3cret-of-the-bus"
SESSION_MS: Final = 3000
"""Of logins by a token: the broker then wants another one."""

_LISTENERS: Final = {"TLS": "SSL", "MUTUAL": "SSL", "LOGIN": "SASL_PLAINTEXT", "BOTH": "SASL_SSL", "TOKEN": "SASL_SSL"}
_SECURITY: Final = "org.apache.kafka.common.security."
_LOGINS: Final = {"LOGIN": ("SCRAM-SHA-256",), "BOTH": ("SCRAM-SHA-512", "PLAIN"), "TOKEN": ("OAUTHBEARER",)}


class SecureKafka(Kafka):
    """
    Args:
        authority: has signed the certificate for 127.0.0.1.
        certificate, key: PEM, of the broker; `authority` is also the one whose clients MUTUAL lets in.

    Attributes:
        ways: name -> host:port of each listener; PLAIN is the one of `bootstrap`.
    """

    def __init__(self, authority: Authority, certificate: bytes, key: bytes, **options: Any) -> None:
        super().__init__(modest=True, fast=True, **options)
        self._authority = authority
        self._store = key + certificate
        self.ways = {"PLAIN": self.address} | {name: f"{self.host}:{free_port()}" for name in _LISTENERS}

    def _settings(self) -> dict[str, object]:
        settings = super()._settings()
        more = ",".join(f"{name}://{self.ways[name]}" for name in _LISTENERS)
        for key in ("listeners", "advertised.listeners"):
            settings[key] = f"{settings[key]},{more}"
        protocols = {"CONTROLLER": "PLAINTEXT", "PLAINTEXT": "PLAINTEXT"} | _LISTENERS
        settings["listener.security.protocol.map"] = ",".join(f"{name}:{kind}" for name, kind in protocols.items())
        store = self.folder / "keystore.pem"
        store.write_bytes(self._store)
        settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": store}
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": self._authority.ca}
        settings["listener.name.mutual.ssl.client.auth"] = "required"
        for name, mechanisms in _LOGINS.items():
            prefix = f"listener.name.{name.lower()}"
            settings[f"{prefix}.sasl.enabled.mechanisms"] = ",".join(mechanisms)
            for mechanism in mechanisms:
                module = "scram.ScramLoginModule required;"
                if mechanism == "PLAIN":
                    module = f'plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
                if mechanism == "OAUTHBEARER":  # it takes unsigned tokens of any subject
                    module = f'oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="{USER}";'
                    settings[f"{prefix}.oauthbearer.connections.max.reauth.ms"] = SESSION_MS
                settings[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = _SECURITY + module
        return settings

    @staticmethod
    def token(seconds: float = 60, user: str = USER) -> str:
        """An unsigned JSON Web Token that is valid for so long."""
        now = time.time()
        claims = {"sub": user, "iat": now - 1, "exp": now + seconds}
        parts = [json.dumps(each).encode() for each in ({"alg": "none"}, claims)]
        return ".".join(base64.urlsafe_b64encode(each).decode().rstrip("=") for each in parts) + "."

    def _format(self, tool: list[str], settings: str) -> None:
        command = [*tool, "format", "--standalone", "-t", random_uuid(), "-c", settings]
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            command += ["--add-scram", f"{mechanism}=[name={USER},password={PASSWORD}]"]
        run(self.name, command)
