from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.model.replica_id import derived
from replicator.mysql.identifiers import quote_account, quote_identifier


@given(st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=64))
def test_a_quoted_identifier_is_one_token_and_reads_back(name: str) -> None:
    quoted = quote_identifier(name)
    assert quoted[0] == quoted[-1] == "`"
    inside = quoted[1:-1]
    assert "`" not in inside.replace("``", "")
    assert inside.replace("``", "`") == name


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 65])
def test_what_no_identifier_can_be_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not an identifier"):
        quote_identifier(name)


def test_accounts_are_quoted_for_a_statement() -> None:
    assert quote_account("u@%") == "'u'@'%'"
    assert quote_account("a@b@host") == "'a@b'@'host'"
    assert quote_account("o'brien\\@%") == "'o''brien\\\\'@'%'"


@given(st.text(max_size=100))
def test_a_derived_server_id_is_stable_and_in_the_upper_half(task: str) -> None:
    assert derived(task) == derived(task)
    assert 1 << 31 <= derived(task) < 1 << 32


def test_derived_server_ids_differ_and_never_change() -> None:
    assert len({derived(f"task{n}") for n in range(1000)}) == 1000
    assert derived("copy_hot_item") == 3311007076  # what runs now must keep its id


def test_no_statement_is_built_from_values() -> None:
    """Only quoted names may stand in an f-string that is executed, and the SELECT that chunk_query makes."""
    from pathlib import Path

    import replicator.source.mysql as package

    for path in Path(package.__file__).parent.rglob("*.py"):
        for line in re.findall(r"(?:rows|value|refusal)\(f.*", path.read_text()):
            quoted = "quote_identifier(" in path.read_text() and "{table}" in line
            made = path.name == "survey.py" and "{select}" in line
            assert quoted or made or "{name}" in line or "{marks}" in line, f"{path}: {line}"
