"""The mechanisms' messages, held against the examples of their RFCs, and a server that is not one."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from replicator.kafka import sasl
from replicator.kafka.sasl import Bearer, Exchange, ExchangeFailed, Password

SERVER_FIRST = b"r=%s%%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
CLIENT = "rOprNGfwEbeRWgbNEkqO"


def scram(name: str = "user", nonce: str = CLIENT, hash_: str = "sha256") -> Exchange:
    return sasl._Scram(hash_, name, "pencil", nonce)


def test_scram_sha_256_as_in_rfc_7677() -> None:
    exchange = scram()
    assert exchange.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    final = exchange.answer(SERVER_FIRST % CLIENT.encode())
    assert final == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert exchange.answer(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None


def test_scram_sha_512_against_a_server_of_our_own() -> None:
    exchange = scram(hash_="sha512")
    salt = b"0123456789abcdef"
    first = b"r=" + CLIENT.encode() + b"abc,s=" + base64.b64encode(salt) + b",i=8192"
    final = exchange.answer(first)
    assert final is not None
    salted = hashlib.pbkdf2_hmac("sha512", b"pencil", salt, 8192)
    said = b"n=user,r=" + CLIENT.encode() + b"," + first + b"," + final.rpartition(b",p=")[0]
    proof = base64.b64decode(final.rpartition(b",p=")[2])
    key = hmac.digest(salted, b"Client Key", "sha512")
    signature = hmac.digest(hashlib.sha512(key).digest(), said, "sha512")
    assert bytes(a ^ b for a, b in zip(proof, signature, strict=True)) == key
    server = hmac.digest(hmac.digest(salted, b"Server Key", "sha512"), said, "sha512")
    assert exchange.answer(b"v=" + base64.b64encode(server)) is None


@pytest.mark.parametrize(
    "first",
    [
        b"r=another,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"r=" + CLIENT.encode() + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"r=" + CLIENT.encode() + b"x,s=,i=4096",
        b"r=" + CLIENT.encode() + b"x,s=!!!,i=4096",
        b"r=" + CLIENT.encode() + b"x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1",
        b"r=" + CLIENT.encode() + b"x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=2000000000",
        b"r=" + CLIENT.encode() + b"x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=-4096",
        b"r=" + CLIENT.encode() + b"x,s=W22ZaJ0SNY7soEsUEjb6gQ==",
        b"m=ext,r=" + CLIENT.encode() + b"x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"",
        b"\xff\xfe",
        b"HTTP/1.1 200 OK",
    ],
)
def test_a_server_that_is_none_learns_nothing(first: bytes) -> None:
    with pytest.raises(ExchangeFailed) as caught:
        scram().answer(first)
    assert "pencil" not in str(caught.value)


@pytest.mark.parametrize("last", [b"v=AAAA", b"v=", b"e=other-error", b"x", b"v=!"])
def test_a_server_that_does_not_know_the_password(last: bytes) -> None:
    exchange = scram()
    exchange.answer(SERVER_FIRST % CLIENT.encode())
    with pytest.raises(ExchangeFailed):
        exchange.answer(last)


def test_names_with_commas_and_nonces_of_our_own() -> None:
    assert scram("a=b,c").first() == b"n,,n=a=3Db=2Cc,r=" + CLIENT.encode()
    two = {Password("SCRAM-SHA-512", "u", "p").exchange().first() for _ in range(2)}
    assert len(two) == 2


def test_plain_and_bearer() -> None:
    plain = Password("PLAIN", "u", "ü").exchange()
    assert plain.first() == "\0u\0ü".encode() and plain.answer(b"") is None
    bearer = Bearer(lambda: "abc").exchange()
    assert bearer.first() == b"n,,\1auth=Bearer abc\1\1" and bearer.answer(b"") is None
    bearer = Bearer(lambda: "abc").exchange()
    assert bearer.answer(b'{"status":"\x1b"}') == b"\1"
    with pytest.raises(ExchangeFailed, match="status"):
        bearer.answer(b"")
