"""Replaces variables of a template by text that is known when the plan is made."""

from __future__ import annotations

from collections.abc import Mapping

from replicator.model.plan import Template, Text, Var, Variable


def with_literals(template: Template, known: Mapping[Variable, str]) -> Template:
    """`template` with the JSON texts of `known` in the place of these variables; a null as the variable writes it."""
    return tuple(_step(step, known) if isinstance(step, Var) else step for step in template)


def _step(step: Var, known: Mapping[Variable, str]) -> Text | Var:
    text = known.get(step.name)
    if text is None:
        return step
    if step.before is None:
        return Text(text)
    return Text("" if text == "null" else step.before + text)


def literal(template: Template, known: Mapping[Variable, str]) -> str:
    """The text of a template of literals and of variables that are all known."""
    return "".join(step.text for step in with_literals(template, known) if isinstance(step, Text))
