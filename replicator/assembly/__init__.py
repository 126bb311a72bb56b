"""Joins the stages: a task's configuration becomes a pipeline, a schema catalog, a list of findings."""
