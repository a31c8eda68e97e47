"""The Gorge task queue over HTTP: the Go server of generation 0 with its traps, and this product's own queue server.

How the parts hang together: `adapter` is what the engine sees; `leasing` takes tasks, under owners from `lanes` where
the queue needs them; `reports` sends outcomes; `recovery` finds and gives back what was leased unawares. Everything
that generation 0 can't say (a retry wait that is kept, whether a lost report was taken) is remembered in `waits` and
`attempts`.
"""

from gorge_worker.queues.gorge.adapter import GorgeQueue

__all__ = ["GorgeQueue"]
