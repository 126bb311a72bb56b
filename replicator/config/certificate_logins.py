"""The file of --certificate-logins: which client certificates are logins, by the common name of their subject."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from replicator.config.labels import parse_selector
from replicator.errors import ConfigError, ProcessError
from replicator.model.decoding import converted
from replicator.model.principal import Principal, Role

_MOST_BYTES: Final = 1 << 20


class CertificateLogin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`selector`: of the labels of tasks; "" for all."""

    role: Role
    selector: str = ""


def read_certificate_logins(path: Path) -> dict[str, Principal]:
    """Principals by common name. Raises ProcessError E5080."""
    try:
        raw = path.read_bytes()
        if len(raw) > _MOST_BYTES:
            raise ValueError("the file is too large")
        found = converted(yaml.safe_load(raw) or {}, dict[str, CertificateLogin])
        for login in found.values():
            if login.selector:
                parse_selector(login.selector)
    except (OSError, ValueError, yaml.YAMLError, msgspec.ValidationError, ConfigError) as error:
        reason = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())[:300]
        wanted = "COMMON_NAME: {role: viewer|operator|admin, selector: env=prod}"
        what = f"{path} has no valid logins of certificates"
        raise ProcessError("E5080", what, found=reason or "", wanted=wanted) from None
    return {name: Principal(name, login.role, login.selector, "certificate") for name, login in found.items()}


def common_name(certificate: dict[str, Any] | None) -> str:
    """Of the subject of a verified certificate, as `ssl.SSLSocket.getpeercert` returns it; "" unless it has one."""
    subject = (certificate or {}).get("subject", ())
    names = [value for part in subject for key, value in part if key == "commonName"]
    return str(names[0]) if len(names) == 1 else ""
