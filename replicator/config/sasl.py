"""Login at Kafka."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from replicator.config.annotated import SecretRef
from replicator.config.base import Model


class Sasl(Model):
    mechanism: Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"] = Field(
        "SCRAM-SHA-512", description="how the password is shown; PLAIN only with tls that verifies, as it goes as it is"
    )
    user: str = Field(
        min_length=1, description="account with Write and Describe on what the task writes, and IdempotentWrite"
    )
    password: SecretRef
