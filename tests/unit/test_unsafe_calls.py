"""Calls that ruff has no rule for, or that one place alone may make."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable
from typing import Final

import pytest

from dev.paths import TREE

_PRODUCT: Final = ("replicator", "core", "server", "monitor")
_PICKLE: Final = {"core/channel.py": "messages of a Core and its own workers, over a socket pair"}
_MARSHAL: Final = {"replicator/decode/transactions/transaction_buffer.py": "its own file, deleted when it was opened"}
_GENERATED: Final = {
    "replicator/decode/plan/source_text.py": "source text of type numbers and renderers",
    "replicator/decode/values/decimals.py": "source text of numbers",
    "replicator/decode/native/programs.py": "source text of constants",
    "replicator/decode/renderers/raw_values.py": "source text of this package's renderers",
    "replicator/encode/avro/writer.py": "source text of types and numbers of fields",
}


def _called(node: ast.AST) -> str:
    """`yaml.load` of a call, with the last two names of a longer chain; else nothing."""
    if not isinstance(node, ast.Call):
        return ""
    return ".".join(ast.unparse(node.func).split(".")[-2:]) if isinstance(node.func, ast.Attribute | ast.Name) else ""


def _imports(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {each.name.partition(".")[0] for each in node.names}
    return {node.module.partition(".")[0]} if isinstance(node, ast.ImportFrom) and node.module else set()


def _keyword(node: ast.AST, name: str) -> ast.expr | None:
    found = [each.value for each in node.keywords if each.arg == name] if isinstance(node, ast.Call) else []
    return found[0] if found else None


def _is(value: ast.expr | None, constant: object) -> bool:
    return isinstance(value, ast.Constant) and value.value is constant


def shell(node: ast.AST) -> bool:
    value = _keyword(node, "shell")
    started = {"os.system", "os.popen", "subprocess.getoutput", "asyncio.create_subprocess_shell"}
    return (value is not None and not _is(value, False)) or _called(node) in started


def unsafe_yaml(node: ast.AST) -> bool:
    loads = {"yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.unsafe_load_all", "yaml.full_load"}
    return _called(node) in loads and "Safe" not in ast.unparse(node)


def pickled(node: ast.AST) -> bool:
    return bool(_imports(node) & {"pickle", "cPickle", "dill", "shelve", "cloudpickle"})


def marshalled(node: ast.AST) -> bool:
    return "marshal" in _imports(node)


def generated(node: ast.AST) -> bool:
    return _called(node) in ("eval", "exec")


def unverified(node: ast.AST) -> bool:
    value = _keyword(node, "verify")
    return _is(value, False) or _called(node) == "ssl._create_unverified_context"


def kazoo(node: ast.AST) -> bool:
    """Nodes are created with the ACL of their path by the coordinator alone."""
    return "kazoo" in _imports(node)


def connects(node: ast.AST) -> bool:
    """Opens a connection, looks up a name, or makes a client of a library that does."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = {each.name for each in node.names}
        return bool(_imports(node) & _CLIENT_LIBRARIES) or bool(names & _CLIENT_CLASSES)
    called = _called(node)
    return called in _CONNECTING or called.rpartition(".")[2] in _CONNECTING_METHODS


def unchecked_client(node: ast.AST) -> bool:
    """A client of httpx that looks up names by itself."""
    return _called(node) in ("httpx.Client", "httpx.stream", "httpx.get") and _keyword(node, "transport") is None


def formatted_sql(node: ast.AST) -> bool:
    """SQL that is put together in the call: values belong into parameters."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return False
    first = node.args[0]
    made = isinstance(first, ast.JoinedStr | ast.BinOp) or _called(first).endswith(".format")
    return node.func.attr in ("execute", "executemany", "executescript") and made


def exposed_default(node: ast.AST) -> bool:
    """A parameter for a secret whose default is one."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    given = node.args
    named = [*given.posonlyargs, *given.args]
    pairs = [*zip(named[len(named) - len(given.defaults) :], given.defaults, strict=True)]
    pairs += [(name, value) for name, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value]
    return any(
        name.arg in ("password", "secret", "token") and isinstance(value, ast.Constant) and bool(value.value)
        for name, value in pairs
    )


_CLIENT_LIBRARIES: Final = {"aiohttp", "ftplib", "httpcore", "httpx", "pymysql", "requests", "smtplib", "telnetlib"}
_CLIENT_CLASSES: Final = {
    "KafkaAdminClient",
    "KafkaClient",
    "KafkaConsumer",
    "KafkaProducer",
    "urlopen",
    "HTTPConnection",
}
_CONNECTING: Final = {"socket.socket", "socket.create_connection", "socket.gethostbyname", "urllib.request"}
_CONNECTING_METHODS: Final = {
    "connect_ex",
    "create_connection",
    "getaddrinfo",
    "gethostbyname",
    "open_connection",
    "sock_connect",
    "urlopen",
}
_CONNECT: Final = {
    "replicator/net/connections.py": "the one place",
    "replicator/net/http_transport.py": "httpx, with addresses from there",
    "replicator/net/oidc.py": "httpx, with this transport",
    "replicator/encode/avro/registry.py": "httpx, with this transport",
    "replicator/encode/avro/answer.py": "its types; the client is the registry's",
    "replicator/alerts/delivery.py": "httpx, with this transport; smtplib, with a socket from there",
    "replicator/kafka/transport.py": "addresses from there",
    "replicator/mysql/": "PyMySQL, with a socket from there",
    "replicator/sink/kafka/": "kafka-python, with `checked_socket`",
    "replicator/zookeeper/": "ZooKeeper, which the operator of the process chooses",
    "replicator/cli/task/client.py": "the Server, which the user of the command chooses",
    "replicator/cli/task/client_tls.py": "the same",
    "replicator/cli/bundle/host.py": "the processes of the installation, which the user of the command names",
    "monitor/server_api.py": "httpx, with this transport",
    "replicator/telemetry/http.py": "listens",
    "replicator/host/service_manager.py": "systemd, over a Unix socket",
    "replicator/cli/lock/guard.py": "its parent, over a socket pair",
    "replicator/source/shared/": "processes of one Core, over a Unix socket",
}
"""Tasks connect to nothing that their lists of outgoing addresses do not allow."""

RULES: Final[dict[Callable[[ast.AST], bool], dict[str, str]]] = {
    shell: {},
    unsafe_yaml: {},
    pickled: _PICKLE,
    marshalled: _MARSHAL,
    generated: _GENERATED,
    unverified: {},
    exposed_default: {},
    formatted_sql: {"replicator/checkpoint/sqlite.py": "the name of one of its two tables"},
    kazoo: {"replicator/zookeeper/": "the coordinator itself"},
    connects: _CONNECT,
    unchecked_client: {
        name: _CONNECT[name] for name in ("replicator/cli/task/client.py", "replicator/cli/bundle/host.py")
    },
}
"""Rule -> files that may, and why. A folder ends with a slash."""


def found(rule: Callable[[ast.AST], bool], nodes: Iterable[ast.AST]) -> list[int]:
    """Lines that break a rule."""
    return [getattr(node, "lineno", 0) for node in nodes if rule(node)]


_LOOKED_AT: Final = (ast.Call, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef)


def _nodes(source: str) -> list[ast.AST]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, _LOOKED_AT)]


@functools.cache
def _sources() -> dict[str, list[ast.AST]]:
    """Each file once, for all rules."""
    paths = [path for package in _PRODUCT for path in sorted((TREE / package).rglob("*.py"))]
    return {path.relative_to(TREE).as_posix(): _nodes(path.read_text()) for path in paths}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_file_breaks_a_rule(rule: Callable[[ast.AST], bool]) -> None:
    allowed, used, wrong = RULES[rule], set(), []
    for name, nodes in _sources().items():
        lines = found(rule, nodes)
        reason = next((each for each in allowed if name == each or (each.endswith("/") and name.startswith(each))), "")
        used |= {reason} if lines and reason else set()
        wrong += [] if reason else [f"{name}:{line}" for line in lines]
    assert wrong == []
    assert used == set(allowed), "an exception that nothing needs"


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (shell, "subprocess.run('ls', shell=True)"),
        (shell, "subprocess.run(command, shell=wanted)"),
        (shell, "os.system('ls')"),
        (unsafe_yaml, "yaml.load(text)"),
        (unsafe_yaml, "yaml.load(text, Loader=yaml.Loader)"),
        (pickled, "from pickle import loads"),
        (marshalled, "import marshal"),
        (generated, "eval(text)"),
        (unverified, "requests.get(url, verify=False)"),
        (unverified, "ssl._create_unverified_context()"),
        (exposed_default, "def login(user, password='root'): ..."),
        (exposed_default, "async def login(*, token='abc'): ..."),
        (formatted_sql, "cursor.execute(f'DROP TABLE {name}')"),
        (formatted_sql, "cursor.execute('DROP TABLE ' + name)"),
        (formatted_sql, "cursor.execute('DROP TABLE {}'.format(name))"),
        (kazoo, "from kazoo.client import KazooClient"),
        (connects, "import httpx"),
        (connects, "from httpx import Client"),
        (connects, "from kafka import KafkaConsumer"),
        (connects, "socket.create_connection(address)"),
        (connects, "made = socket.socket(family)"),
        (connects, "socket.getaddrinfo(host, port)"),
        (connects, "asyncio.open_connection(host, port)"),
        (connects, "urllib.request.urlopen(url)"),
        (unchecked_client, "httpx.Client(verify=context)"),
    ],
)
def test_rules_find(rule: Callable[[ast.AST], bool], line: str) -> None:
    assert found(rule, _nodes(line)) == [1]


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (shell, "subprocess.run(['ls'], shell=False)"),
        (unsafe_yaml, "yaml.safe_load(text)"),
        (unsafe_yaml, "yaml.load(text, Loader=yaml.CSafeLoader)"),
        (generated, "session.exec(text)"),
        (unverified, "requests.get(url, verify=path)"),
        (exposed_default, "def login(user, password=''): ..."),
        (formatted_sql, "cursor.execute('DELETE FROM t WHERE id = %s', (number,))"),
        (kazoo, "from replicator.zookeeper import client"),
        (connects, "connections.connect(host, port, 5)"),
        (connects, "socket.socketpair()"),
        (unchecked_client, "httpx.Client(transport=CheckedTransport(context))"),
    ],
)
def test_rules_leave_alone(rule: Callable[[ast.AST], bool], line: str) -> None:
    assert found(rule, _nodes(line)) == []
