"""The Gorge task queue over HTTP: both generations of the Go server, the first with its traps, and this product's own.

How the parts hang together: `adapter` is what the engine sees; `leasing` takes tasks, under owners from `lanes` where
the queue needs them; `recovery` finds and gives back what was leased unawares. A lease is spoken of in the words of the
generation that gave it, to its end. Those of generation 1 identify themselves (`fences`): `fenced_reports` and
`renewals` speak under them, and `standing` finds out how one stands. `reports` sends the outcomes of generation 0's
leases; what that can't say (a retry wait that is kept, whether a lost report was taken) is remembered in `waits` and
`attempts`.
"""

from gorge_worker.queues.gorge.adapter import GorgeQueue

__all__ = ["GorgeQueue"]
