"""docker-compose.yml: its structure, its references, and commands that our command line really has."""

from __future__ import annotations

import json
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
import yaml

TREE = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((TREE / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service["image"] == "mysql-replicator"]


def test_it_follows_the_schema() -> None:
    schema = json.loads((TREE / "tests" / "data" / "compose-schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(COMPOSE)


def test_two_cores_a_server_and_a_monitor() -> None:
    commands = [SERVICES[name]["command"][1] for name in OURS]
    assert sorted(commands) == ["core", "core", "monitor", "server"]


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_service_waits_for_has_a_health_check(name: str) -> None:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        assert how == {"condition": "service_healthy"}
        assert "healthcheck" in SERVICES[other]


@pytest.mark.parametrize("name", SERVICES)
def test_volumes_and_mounted_files_exist(name: str) -> None:
    for volume in SERVICES[name].get("volumes", []):
        origin = volume.split(":")[0]
        assert (TREE / origin).exists() if origin.startswith(".") else origin in COMPOSE["volumes"]


@pytest.mark.parametrize("name", OURS)
def test_our_processes_run_with_nothing_to_spare(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] and service["init"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", OURS)
def test_the_command_is_one_that_the_command_line_has(name: str) -> None:
    program, process, *words = SERVICES[name]["command"]
    project = tomllib.loads((TREE / "pyproject.toml").read_text())["project"]
    assert program in project["scripts"]
    module, _, attribute = project["entry-points"]["replicator.commands"][process].partition(":")
    command: click.Command = getattr(import_module(module), attribute)
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= known


def test_every_published_port_is_used_once() -> None:
    ports = [port.split(":")[1] for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(ports) == len(set(ports))
