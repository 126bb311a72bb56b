"""Recipes over the coordinator for everyone: locks, barriers, queues and unique ids."""
