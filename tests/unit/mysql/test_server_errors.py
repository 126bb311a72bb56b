"""Errors of a server and of the client library at login and of statements."""

from __future__ import annotations

import ssl

import pymysql
import pytest

from replicator.mysql import server_errors
from replicator.mysql.sides import SOURCE

WHERE = "db:3306"


def connect_error(number: int, message: str, cause: Exception | None = None) -> pymysql.err.OperationalError:
    error = pymysql.err.OperationalError(number, message)
    if cause is not None:
        vars(error)["original_exception"] = cause  # as PyMySQL sets it
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (connect_error(1045, "Access denied for user"), "E2101"),
        (connect_error(1130, "Host is not allowed to connect"), "E2101"),
        (connect_error(3118, "Account is locked"), "E2101"),
        (connect_error(2003, "refused", ConnectionRefusedError("refused")), "E2001"),
        (connect_error(1040, "Too many connections"), "E2001"),
        (TimeoutError("timed out"), "E2001"),
        (connect_error(2003, "x", ssl.SSLCertVerificationError(1, "CERTIFICATE_VERIFY_FAILED")), "E2102"),
        (connect_error(2026, "SSL is required but the server doesn't support it"), "E2102"),
        (connect_error(3159, "Connections using insecure transport are prohibited"), "E2102"),
        (connect_error(1049, "Unknown database"), "E2211"),
    ],
)
def test_connecting_fails(error: Exception, code: str) -> None:
    found = server_errors.connect_error(SOURCE, error, WHERE, "u")
    assert found.code == code
    assert found.transient is (code == "E2001")


def test_after_the_login_a_refusal_is_a_missing_grant() -> None:
    assert server_errors.query_error(SOURCE, connect_error(1045, "Access denied for user"), WHERE, "u").code == "E2104"
    assert server_errors.query_error(SOURCE, BrokenPipeError("gone"), WHERE, "u").code == "E2002"
