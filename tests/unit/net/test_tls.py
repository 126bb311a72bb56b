from __future__ import annotations

import os
import shutil
import ssl
from pathlib import Path

import pytest

from dev.servers.authority import Authority
from replicator.config.tls import Tls
from replicator.host import access
from replicator.host.access import SECRETS_DIRECTORY
from replicator.net.certificate_expiry import of_files
from replicator.net.tls import FilesUnusable, context


def test_a_context_verifies_unless_told_otherwise() -> None:
    made = context(Tls.model_validate({}))
    assert (made.verify_mode, made.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert made.minimum_version is ssl.TLSVersion.TLSv1_2
    lax = context(Tls.model_validate({"insecure": True}))
    assert (lax.verify_mode, lax.check_hostname) == (ssl.CERT_NONE, False)


def test_files_that_can_not_be_used_are_named(tmp_path: Path) -> None:
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("rubbish")
    for settings in ({"ca": "/no/such/file"}, {"ca": str(rubbish)}, {"cert": str(rubbish)}):
        with pytest.raises(FilesUnusable) as raised:
            context(Tls.model_validate(settings))
        assert next(iter(settings.values())) in str(raised.value)


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_files_are_where_secrets_are_and_authorities_where_the_system_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(made(tmp_path / "in"), "a")
    outside = Authority(made(tmp_path / "out"), "b")
    pair = authority.leaf("127.0.0.1")
    monkeypatch.setenv(SECRETS_DIRECTORY, str(tmp_path / "in"))
    monkeypatch.setattr(access, "TRUST_STORES", (tmp_path / "store",))
    (tmp_path / "store").mkdir()
    shutil.copy(outside.ca, tmp_path / "store" / "ca.pem")
    context(Tls.model_validate({"ca": str(authority.ca), "cert": str(pair[0]), "key": str(pair[1])}))
    context(Tls.model_validate({"ca": str(tmp_path / "store" / "ca.pem")}))
    other = outside.leaf("127.0.0.1")
    for settings in (
        {"ca": str(outside.ca)},
        {"cert": str(other[0]), "key": str(other[1])},
        {"cert": str(pair[0]), "key": str(other[1])},
        {"cert": str(tmp_path / "store" / "ca.pem")},
        {"ca": f"{tmp_path}/in/../out/{outside.ca.name}"},
    ):
        with pytest.raises(FilesUnusable, match="tasks may not read"):
            context(Tls.model_validate(settings))
    assert of_files(Tls.model_validate({"ca": str(outside.ca)})) == []
    assert len(of_files(Tls.model_validate({"ca": str(authority.ca)}))) == 1


def test_files_that_never_end_or_never_begin(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as large:
        large.truncate(1 << 40)
    for path in ("/dev/zero", str(tmp_path / "pipe"), str(tmp_path / "large"), str(tmp_path)):
        for which in ("ca", "cert", "key"):
            files = {"cert": path, which: path}
            with pytest.raises(FilesUnusable):
                context(Tls.model_validate(files))
        assert of_files(Tls.model_validate({"ca": path, "cert": path})) == []
