"""Commands for logins and the audit."""
