"""Phorge's own tables on MySQL or MariaDB, or tables of the same shape in a database of the product's own.

How the parts hang together: `store` is what others see. `enqueuer`, `leases` and `changer` gather what is called at
the same time (`gathering`) into transactions of `database`, which keeps the connections, on threads, and heals them.
Inside a transaction (`session`) work `enqueueing`, `leasing` with its `candidates`, and `changing`.
"""
