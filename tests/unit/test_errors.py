from __future__ import annotations

import pickle
import re

import pytest

from replicator import errors
from replicator.codes import CODES
from replicator.errors import ReplicatorError, SourceError

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, ReplicatorError) and kind is not ReplicatorError
]


def test_the_sentence_says_what_found_wanted_and_fix() -> None:
    error = SourceError(
        "E2104",
        "the account 'replicator' may not read the binlog",
        found="USAGE",
        wanted="REPLICATION SLAVE",
        fix="GRANT REPLICATION SLAVE ON *.* TO 'replicator'@'%';",
    )
    assert str(error) == (
        "E2104 source: the account 'replicator' may not read the binlog. Found: USAGE. Wanted: REPLICATION SLAVE. "
        "Fix: GRANT REPLICATION SLAVE ON *.* TO 'replicator'@'%';"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_travels_through_a_pipe_unchanged(kind: type[ReplicatorError]) -> None:
    error = kind("E2301", "what", found="f", wanted="w", fix="x", position="binlog.1:4")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is kind
    assert again.to_dict() == error.to_dict()
    assert str(again) == str(error)


def test_a_code_that_is_not_registered_can_not_be_raised() -> None:
    with pytest.raises(KeyError):
        SourceError("E9999", "what")


def test_codes_are_in_order_and_complete() -> None:
    assert list(CODES) == sorted(CODES)
    for code, entry in CODES.items():
        assert re.fullmatch(r"E[1-5]\d{3}", code)
        assert entry.title
        assert entry.meaning.endswith(".")


def test_every_kind_stands_in_the_tree_of_the_docstring() -> None:
    for kind in KINDS:
        assert kind.__name__ in (errors.__doc__ or "")


def test_docs_are_made_from_the_registry() -> None:
    from dev.docs import PAGES
    from dev.paths import TREE

    for name, page in PAGES.items():
        assert (TREE / name).read_text() == page(), "run `make docs`"
