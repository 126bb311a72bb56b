"""Transactions of the stream: the handlers of events, and the state between them."""
