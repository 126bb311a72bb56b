"""Value types that several parts of a configuration share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from replicator.config import printed_secrets, sealed
from replicator.config.tables import TableFilter
from replicator.errors import ConfigError


def checked(check: Callable[[Any], Any]) -> AfterValidator:
    """A check that raises ConfigError, as a validator: the code and its parts travel in the context to `load`."""

    def run(value: Any) -> Any:
        try:
            check(value)
        except ConfigError as error:
            raise PydanticCustomError("replicator", "{what}", error.to_dict()) from error
        return value

    return AfterValidator(run)


SecretRef = Annotated[
    str,
    Field(
        pattern=rf"^(env:[A-Za-z_][A-Za-z0-9_]*|file:/.+|{printed_secrets.PATTERN}|{sealed.PATTERN})$",
        description="reference to the password: env:NAME, file:/path or command:PROGRAM/ARGUMENT; or a sealed value",
    ),
]
Tables = Annotated[tuple[str, ...], Field(min_length=1), checked(TableFilter)]


M = TypeVar("M")


def own_check(model: M, check: Callable[[M], None]) -> M:
    """`checked` for a whole model, in a validator of mode "after"."""
    try:
        check(model)
    except ConfigError as error:
        raise PydanticCustomError("replicator", "{what}", error.to_dict()) from error
    return model
