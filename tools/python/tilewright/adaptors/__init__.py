"""Adaptors to others' tools. None of those is needed to import this."""
