from collections.abc import Callable
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")

class AsyncResult(Generic[_T]):
    def __init__(
        self, handler: Any, condition_factory: Callable[[], Any], timeout_factory: Callable[[], BaseException]
    ) -> None: ...
    def get(self, block: bool = True, timeout: float | None = None) -> _T: ...
    def set_exception(self, exception: BaseException) -> None: ...
