"""Logins of people and machines: tokens, users, and how they are verified."""
