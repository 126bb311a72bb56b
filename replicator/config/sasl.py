"""Configuration of the SASL login at Kafka."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from replicator.config.annotated import SecretRef, own_check
from replicator.config.base import Model
from replicator.config.tls import Tls
from replicator.errors import ConfigError

_Argument = Annotated[str, Field(min_length=1, max_length=4096)]


class Sasl(Model):
    mechanism: Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN", "OAUTHBEARER"] = Field(
        "SCRAM-SHA-512",
        description=(
            "SASL mechanism; PLAIN and OAUTHBEARER send the password or token itself and require tls that "
            "verifies the brokers"
        ),
    )
    user: str | None = Field(
        None,
        min_length=1,
        description=(
            "account with Write and Describe on the topics of the task, and IdempotentWrite; not for OAUTHBEARER"
        ),
    )
    password: SecretRef | None = Field(
        None, description="password of the user: env:NAME, file:/path or command:PROGRAM; not for OAUTHBEARER"
    )
    token: SecretRef | None = Field(
        None,
        description="OAUTHBEARER: the token, env:NAME, file:/path or command:PROGRAM; the file is read at each login",
    )
    token_command: Annotated[tuple[_Argument, ...], Field(min_length=1)] | None = Field(
        None,
        description=(
            "OAUTHBEARER: program in --commands-directory that prints a token, and its arguments; run at each login"
        ),
    )
    extensions: dict[
        Annotated[str, Field(pattern=r"^[A-Za-z]+$")], Annotated[str, Field(pattern=r"^[\x21-\x7e \t\r\n]*$")]
    ] = Field({}, description="OAUTHBEARER: SASL extensions, sent with the token")

    @model_validator(mode="after")
    def _complete(self) -> Sasl:
        return own_check(self, _check_complete)


def _check_complete(sasl: Sasl) -> None:
    given = {name for name in ("user", "password", "token", "token_command", "extensions") if getattr(sasl, name)}
    if sasl.mechanism == "OAUTHBEARER":
        wrong, missing = given & {"user", "password"}, len(given & {"token", "token_command"}) != 1
        wanted = "either token or token_command, and neither user nor password"
    else:
        wrong, missing = given & {"token", "token_command", "extensions"}, not {"user", "password"} <= given
        wanted = "user and password, and no key of OAUTHBEARER"
    if wrong or missing:
        raise ConfigError(
            "E1003",
            f"sink.sasl does not match its mechanism, {sasl.mechanism}",
            found=", ".join(sorted(given)) or "neither user nor token",
            wanted=wanted,
        )


def check_protected(section: str, sasl: Sasl | None, tls: Tls | None) -> None:
    """Raises ConfigError E1003 where a login of `section` would send its secret itself to whoever answers."""
    verified = tls is not None and not tls.insecure
    if sasl is not None and sasl.mechanism in ("PLAIN", "OAUTHBEARER") and not verified:
        secret = "password" if sasl.mechanism == "PLAIN" else "token"
        raise ConfigError(
            "E1003",
            f"{section}.sasl would send the {secret} over an unprotected connection",
            found=f"mechanism {sasl.mechanism} without {section}.tls, or with {section}.tls.insecure",
            wanted=f"{section}.tls that verifies the brokers, or mechanism SCRAM-SHA-512",
        )
