from collections.abc import Callable, Iterable, Sequence
from logging import Logger
from threading import Event
from typing import Any, Literal, overload

from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.handlers.utils import AsyncResult
from kazoo.protocol.states import WatchedEvent, ZnodeStat
from kazoo.retry import KazooRetry
from kazoo.security import ACL

class KazooClient:
    handler: SequentialThreadingHandler
    auth_data: set[tuple[str, str]]
    hosts: list[tuple[str, int]]
    def __init__(
        self,
        hosts: str = "127.0.0.1:2181",
        timeout: float = 10.0,
        client_id: tuple[int, bytes] | None = None,
        handler: SequentialThreadingHandler | None = None,
        default_acl: Sequence[ACL] | None = None,
        auth_data: Iterable[tuple[str, str]] | None = None,
        sasl_options: dict[str, str] | None = None,
        read_only: bool | None = None,
        randomize_hosts: bool = True,
        connection_retry: KazooRetry | dict[str, Any] | None = None,
        command_retry: KazooRetry | dict[str, Any] | None = None,
        logger: Logger | None = None,
        keyfile: str | None = None,
        keyfile_password: str | None = None,
        certfile: str | None = None,
        ca: str | None = None,
        use_ssl: bool = False,
        verify_certs: bool = True,
        check_hostname: bool = False,
        **kwargs: Any,
    ) -> None: ...
    @property
    def client_id(self) -> tuple[int, bytes] | None: ...
    @property
    def connected(self) -> bool: ...
    def add_auth(self, scheme: str, credential: str) -> bool: ...
    def add_listener(self, listener: Callable[[str], Any]) -> None: ...
    def close(self) -> None: ...
    def start(self, timeout: float = 15) -> None: ...
    def start_async(self) -> Event: ...
    def stop(self) -> None: ...
    @overload
    def create(
        self,
        path: str,
        value: bytes = b"",
        acl: Sequence[ACL] | None = None,
        ephemeral: bool = False,
        sequence: bool = False,
        makepath: bool = False,
        include_data: Literal[False] = False,
    ) -> str: ...
    @overload
    def create(
        self,
        path: str,
        value: bytes = b"",
        acl: Sequence[ACL] | None = None,
        ephemeral: bool = False,
        sequence: bool = False,
        makepath: bool = False,
        *,
        include_data: Literal[True],
    ) -> tuple[str, ZnodeStat]: ...
    @overload
    def create_async(
        self,
        path: str,
        value: bytes = b"",
        acl: Sequence[ACL] | None = None,
        ephemeral: bool = False,
        sequence: bool = False,
        makepath: bool = False,
        include_data: Literal[False] = False,
    ) -> AsyncResult[str]: ...
    @overload
    def create_async(
        self,
        path: str,
        value: bytes = b"",
        acl: Sequence[ACL] | None = None,
        ephemeral: bool = False,
        sequence: bool = False,
        makepath: bool = False,
        *,
        include_data: Literal[True],
    ) -> AsyncResult[tuple[str, ZnodeStat]]: ...
    def delete(self, path: str, version: int = -1, recursive: bool = False) -> bool: ...
    def delete_async(self, path: str, version: int = -1) -> AsyncResult[bool]: ...
    def exists(self, path: str, watch: Callable[[WatchedEvent], Any] | None = None) -> ZnodeStat | None: ...
    def exists_async(
        self, path: str, watch: Callable[[WatchedEvent], Any] | None = None
    ) -> AsyncResult[ZnodeStat | None]: ...
    # The data is None where the node was created without any by another client.
    def get(self, path: str, watch: Callable[[WatchedEvent], Any] | None = None) -> tuple[bytes | None, ZnodeStat]: ...
    def get_async(
        self, path: str, watch: Callable[[WatchedEvent], Any] | None = None
    ) -> AsyncResult[tuple[bytes | None, ZnodeStat]]: ...
    @overload
    def get_children(
        self, path: str, watch: Callable[[WatchedEvent], Any] | None = None, include_data: Literal[False] = False
    ) -> list[str]: ...
    @overload
    def get_children(
        self, path: str, watch: Callable[[WatchedEvent], Any] | None = None, *, include_data: Literal[True]
    ) -> tuple[list[str], ZnodeStat]: ...
    @overload
    def get_children_async(
        self, path: str, watch: Callable[[WatchedEvent], Any] | None = None, include_data: Literal[False] = False
    ) -> AsyncResult[list[str]]: ...
    @overload
    def get_children_async(
        self, path: str, watch: Callable[[WatchedEvent], Any] | None = None, *, include_data: Literal[True]
    ) -> AsyncResult[tuple[list[str], ZnodeStat]]: ...
    def set(self, path: str, value: bytes | None, version: int = -1) -> ZnodeStat: ...
    def get_acls(self, path: str) -> tuple[list[ACL], ZnodeStat]: ...
    def set_acls(self, path: str, acls: Sequence[ACL], version: int = -1) -> ZnodeStat: ...
    def set_async(self, path: str, value: bytes | None, version: int = -1) -> AsyncResult[ZnodeStat]: ...
    def get_acls_async(self, path: str) -> AsyncResult[tuple[list[ACL], ZnodeStat]]: ...
    def set_acls_async(self, path: str, acls: Sequence[ACL], version: int = -1) -> AsyncResult[ZnodeStat]: ...
    def sync_async(self, path: str) -> AsyncResult[str]: ...
    def transaction(self) -> TransactionRequest: ...
    # Private; why they are needed is beside their use in replicator/zookeeper/connection.py.
    def _call(self, request: Any, async_object: AsyncResult[Any]) -> bool | None: ...
    def _notify_pending(self, state: str) -> None: ...

class TransactionRequest:
    def __init__(self, client: KazooClient) -> None: ...
    def check(self, path: str, version: int) -> None: ...
    def commit_async(self) -> AsyncResult[list[Any]]: ...
    def create(
        self,
        path: str,
        value: bytes = b"",
        acl: Sequence[ACL] | None = None,
        ephemeral: bool = False,
        sequence: bool = False,
    ) -> None: ...
    def delete(self, path: str, version: int = -1) -> None: ...
    def set_data(self, path: str, value: bytes, version: int = -1) -> None: ...
