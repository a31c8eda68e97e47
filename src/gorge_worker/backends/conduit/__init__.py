"""Phorge over HTTP: its Conduit method `worker.execute`, in each of its ages (contract: conduit.md)."""
