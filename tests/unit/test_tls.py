from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from replicator.config.tls import Tls
from replicator.tls import FilesUnusable, context


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
