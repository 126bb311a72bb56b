"""Tokens of an identity provider (JWT), against a JWKS server on loopback that the tests run."""

from __future__ import annotations

import base64
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from replicator.assembly.table_definitions import TableDefinitions
from replicator.config.oidc import OidcConfig, RoleRule, read_oidc
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.errors import ProcessError
from replicator.host import access
from replicator.model.principal import Principal
from replicator.net import connections
from replicator.net.oidc import Oidc
from server.app import Access, create_app
from tests.support.api import TOKEN
from tests.unit.net.test_connections import Listener

AUDIENCE = "mysql-replicator"


class Provider:
    """`issuer`: its URL. Keys can be rotated; `requests` counts what was asked of it."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {}
        self.requests: list[str] = []
        self.issuer = self.keys_at = ""
        self.down = False

    def add(self, kid: str, kind: str = "RS256") -> None:
        private: Any = (
            rsa.generate_private_key(public_exponent=65537, key_size=2048)
            if kind == "RS256"
            else ec.generate_private_key(ec.SECP256R1())
        )
        self.keys[kid] = (kind, private)

    def jwks(self) -> dict[str, Any]:
        found = []
        for kid, (kind, private) in self.keys.items():
            algorithm: Any = jwt.get_algorithm_by_name(kind)
            found.append(json.loads(algorithm.to_jwk(private.public_key())) | {"kid": kid, "alg": kind, "use": "sig"})
        return {"keys": found}

    def token(self, kid: str = "one", signed_by: Any = None, **claims: Any) -> str:
        kind, private = self.keys[kid]
        now = int(time.time())
        given = {"iss": self.issuer, "aud": AUDIENCE, "exp": now + 600, "iat": now, "sub": "ann", "groups": ["ops"]}
        wanted = {key: value for key, value in (given | claims).items() if value is not None}
        return jwt.encode(wanted, signed_by or private, kind, headers={"kid": kid})


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    made.add("one")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.requests.append(self.path)
            documents = {
                "/jwks": made.jwks(),
                "/.well-known/openid-configuration": {"issuer": made.issuer, "jwks_uri": made.keys_at},
            }
            body = json.dumps(documents.get(self.path, {})).encode()
            self.send_response(503 if made.down else 200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    made.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    made.keys_at = f"{made.issuer}/jwks"
    yield made
    server.shutdown()
    server.server_close()
    thread.join(timeout=10)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


ROLES = (RoleRule("admins", "admin"), RoleRule("ops", "operator", "env=prod"))


def config(provider: Provider, **more: Any) -> OidcConfig:
    return OidcConfig(issuer=provider.issuer, audience=AUDIENCE, roles=ROLES, **more)


def test_claim_gives_role_and_selector(provider: Provider) -> None:
    oidc = Oidc(config(provider))
    assert oidc.authenticate(provider.token()) == Principal("ann", "operator", "env=prod", "oidc")
    assert oidc.authenticate(provider.token(groups=["ops", "admins"])).role == "admin"
    assert oidc.authenticate(provider.token(groups="admins")).role == "admin"
    assert provider.requests == ["/.well-known/openid-configuration", "/jwks"]
    nested = Oidc(config(provider, role_claim="realm_access.roles", name_claim="email"))
    claims: dict[str, Any] = {"realm_access": {"roles": ["ops"]}, "email": "ann@example.com"}
    assert nested.authenticate(provider.token(**claims)).label == "oidc:ann@example.com"


def test_what_is_wrong_with_a_token_is_refused(provider: Provider) -> None:
    oidc = Oidc(config(provider))
    now = int(time.time())
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    for claims in (
        {"exp": now - 60},
        {"exp": None},
        {"nbf": now + 600},
        {"aud": "another"},
        {"aud": None},
        {"iss": "https://another.example"},
        {"iss": None},
        {"groups": ["sales"]},
        {"groups": None},
        {"groups": {"ops": 1}},
        {"sub": None},
        {"sub": "ann (says root)"},
        {"sub": "a\x1bb"},
        {"signed_by": other},
    ):
        with pytest.raises(ProcessError, match="E5006"):
            oidc.authenticate(provider.token(**claims))
    for broken in ("a.b.c", "..", provider.token()[:-4], provider.token() + "x"):
        with pytest.raises(ProcessError, match="E5006"):
            oidc.authenticate(broken)


def handmade(algorithm: str, claims: dict[str, Any], secret: bytes) -> str:
    """The library refuses to make such tokens."""
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in ({"alg": algorithm, "kid": "one"}, claims)]
    signed = b".".join(part.rstrip(b"=") for part in parts)
    signature = base64.urlsafe_b64encode(hmac.digest(secret, signed, "sha256")).rstrip(b"=") if secret else b""
    return (signed + b"." + signature).decode()


def test_algorithms_are_pinned(provider: Provider) -> None:
    """Neither no signature, nor one with the public key as a shared secret, nor another algorithm of the same key."""
    oidc = Oidc(config(provider, algorithms=("RS256",)))
    claims = {"iss": provider.issuer, "aud": AUDIENCE, "exp": time.time() + 600, "sub": "ann", "groups": ["admins"]}
    private = provider.keys["one"][1]
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for forged in (
        handmade("none", claims, b""),
        handmade("HS256", claims, public),
        jwt.encode(claims, private, "RS512", headers={"kid": "one"}),
    ):
        with pytest.raises(ProcessError, match="E5006"):
            oidc.authenticate(forged)


def test_rotated_keys_are_read_again_and_unknown_ones_cost_little(provider: Provider) -> None:
    clock = Clock()
    oidc = Oidc(config(provider, jwks=f"{provider.issuer}/jwks"), clock)
    oidc.authenticate(provider.token())
    provider.add("two", "ES256")
    clock.now += 20
    assert oidc.authenticate(provider.token("two")).name == "ann"
    assert len(provider.requests) == 2
    provider.add("three")
    for _ in range(10):
        with pytest.raises(ProcessError, match="unknown key"):
            oidc.authenticate(provider.token("three"))
    assert len(provider.requests) == 2
    withdrawn = provider.token("one")
    del provider.keys["one"]
    clock.now += 601
    with pytest.raises(ProcessError, match="E5006"):
        oidc.authenticate(withdrawn)


def test_keys_are_kept_while_the_provider_is_down_for_an_hour(provider: Provider) -> None:
    clock = Clock()
    oidc = Oidc(config(provider), clock)
    oidc.authenticate(provider.token())
    provider.down = True
    clock.now += 3000
    assert oidc.authenticate(provider.token()).name == "ann"
    clock.now += 1000
    with pytest.raises(ProcessError, match="E5077"):
        oidc.authenticate(provider.token())


def test_keys_elsewhere_are_not_read(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of the Server's host counts, also for the address that the provider's document names; that of the
    cluster does not: it must not lock out who maintains it."""
    monkeypatch.setenv(access.ALLOW_OUTGOING, provider.issuer.removeprefix("http://"))
    connections.set_cluster_list(("none",))
    assert Oidc(config(provider)).authenticate(provider.token()).name == "ann"
    connections.set_cluster_list(None)
    with Listener().socket as elsewhere:
        provider.keys_at = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/jwks"
        with pytest.raises(ProcessError, match=r"E5077.*E1050"):
            Oidc(config(provider)).authenticate(provider.token())


def test_keys_of_a_file(provider: Provider, tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps(provider.jwks()))
    assert Oidc(config(provider, jwks=str(path))).authenticate(provider.token()).name == "ann"
    assert provider.requests == []


def test_server_accepts_it_and_says_why_not(provider: Provider) -> None:
    app = create_app(MemoryEnsemble().session(), Layout(), Access(TOKEN, Oidc(config(provider))), TableDefinitions)

    async def ask(token: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as http:
            return await http.get("/api/v1/login", headers=headers)

    assert anyio.run(ask, provider.token()).json()["label"] == "oidc:ann"
    refused = anyio.run(ask, provider.token(exp=1))
    assert refused.status_code == 401 and "expired" in refused.json()["error"]["found"]
    provider.down = True
    app = create_app(MemoryEnsemble().session(), Layout(), Access(TOKEN, Oidc(config(provider))), TableDefinitions)
    assert anyio.run(ask, provider.token()).status_code == 503
    assert anyio.run(ask, TOKEN).status_code == 200


def test_file_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "oidc.yaml"
    good = (
        "issuer: https://login.example.com\naudience: bus\nroles: [{value: ops, role: operator, selector: env=prod}]\n"
    )
    path.write_text(good)
    assert read_oidc(path).roles == (RoleRule("ops", "operator", "env=prod"),)
    for wrong in (
        good.replace("https", "http"),
        good.replace("operator", "root"),
        good.replace("env=prod", '"env in ("'),
        good + "algorithms: [HS256]\n",
        good + "algorithms: [none]\n",
        good + "algorithms: []\n",
        good + "unknown: 1\n",
        good + "leeway_s: 86400\n",
        good + "jwks: jwks.json\n",
        good.replace("bus", '""'),
        good.replace("[{value: ops, role: operator, selector: env=prod}]", "[]"),
        "- 1",
        "{",
        "",
    ):
        path.write_text(wrong)
        with pytest.raises(ProcessError, match="E5077"):
            read_oidc(path)
    with pytest.raises(ProcessError, match="E5077"):
        read_oidc(tmp_path / "nothing")
