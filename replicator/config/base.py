"""Base class of all models of a task's configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Unknown keys are refused; values are frozen once validated."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
