"""PHP processes of the worker's own, which load Phorge once and execute one task after the other.

Contract: php-runner.md. The PHP side is in `gorge_worker/phorge/runner`.
"""
