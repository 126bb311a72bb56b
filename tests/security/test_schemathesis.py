"""Generated requests to every operation: each answer is in the OpenAPI document, without a login and with each role."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from replicator.assembly.table_definitions import TableDefinitions
from replicator.config.load import parse_task, to_data
from replicator.coordination.access.tokens import Tokens
from replicator.coordination.access.users import Users
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.tasks.registry import Registry
from replicator.errors import NodeExists
from replicator.model.principal import ROLES, Role
from server.app import Access, create_app
from server.examples import CONFIG
from server.permissions import RULES
from tests.support.api import CHEAP, TOKEN

CHECKS: list[Any] = [status_code_conformance, content_type_conformance, response_schema_conformance]
BUDGET = settings(
    max_examples=8,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
NAME = str(CONFIG["name"])
DATA = to_data(parse_task(CONFIG))


class Generated:
    """One Server, with a task, a token and a user of the same name, which are created again where they are removed."""

    def __init__(self, role: Role | None) -> None:
        ensemble, layout = MemoryEnsemble(), Layout()
        self._tokens, self._users = Tokens(ensemble.session(), layout), Users(ensemble.session(), layout, CHEAP)
        self._registry = Registry(ensemble.session(), layout)
        self._role = role
        app = create_app(ensemble.session(), layout, Access(TOKEN), TableDefinitions)
        self._headers = {}
        if role is not None:
            secret = self._tokens.create("generated", role, "", 0, "test").secret
            self._headers = {"authorization": f"Bearer {secret}"}
        admin = {"authorization": f"Bearer {TOKEN}"}
        self.schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers=admin)
        self._registry.create(NAME, DATA, "test")
        self._users.create(NAME, "correct horse battery", "viewer", "", "test")
        self.done: Counter[str] = Counter()

    def _restore(self) -> None:
        for create in (
            lambda: self._registry.create(NAME, DATA, "test"),
            lambda: self._tokens.create(NAME, "viewer", "", 0, "test"),
        ):
            with contextlib.suppress(NodeExists):
                create()

    def ask(self, case: Any, operation: str, known: bool) -> None:
        self._restore()
        if known and "name" in (case.path_parameters or {}):
            case.path_parameters["name"] = NAME
        answer = case.call(headers=self._headers)
        assert answer.status_code < 500, answer.text
        case.validate_response(answer, checks=CHECKS)
        needed = RULES[operation].role
        if needed is not None and self._role is None:
            assert answer.status_code == 401
        elif needed is not None and self._role is not None and ROLES.index(self._role) < ROLES.index(needed):
            assert answer.status_code == 403
        self.done[operation] += answer.status_code < 300


@pytest.mark.parametrize("role", [None, *ROLES])
def test_generated_requests(role: Role | None) -> None:
    generated = Generated(role)
    operations: Any = generated.schema.get_all_operations()
    for found in operations:
        operation = found.ok()
        name = operation.definition.raw["operationId"]
        cases = given(case=operation.as_strategy(), operation=st.just(name), known=st.booleans())
        BUDGET(cases(lambda case, operation, known: generated.ask(case, operation, known)))()
    documented = {"readDocument", "readDocs", "readDocsFile"}
    assert set(generated.done) == RULES.keys() - documented
    succeeded = [name for name, count in generated.done.items() if count]
    assert len(succeeded) >= {None: 1, "viewer": 8, "operator": 12, "admin": 18}[role], succeeded
