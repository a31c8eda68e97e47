"""A real Phorge's tasks: PHP's own taskmasters, this worker in its two ways, and PHP alone without a queue.

Usage: PHORGE_ROOT=... PHORGE_DATABASE=... python benchmarks/phorge.py   (docs/testing.md; needs about ten minutes)
Every way has two processes of PHP. They are measured in turn, so that a machine that gets slower is so for all.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from phorge.benchmark.latency import behind_a_failure
from phorge.benchmark.memory import of_a_runner, of_a_taskmaster
from phorge.benchmark.throughput import POOL, with_queue, without_queue
from phorge.benchmark.workload import FULL, LIGHT, Workload, make_objects
from phorge.support.executing import CONDUIT, RUNNER, TASKMASTER, install_extension, taskmasters, worker
from phorge.support.given import NotGivenError, given
from phorge.support.install import Phorge, installed

AHEAD, BARE = "runner ahead", "bare"
SLOTS = "16"
"""Tasks that are leased for two runners where some wait for their turn."""
WAYS = {
    TASKMASTER: f"{POOL} taskmasters of PHP",
    RUNNER: f"worker, {POOL} runners",
    AHEAD: f"the same, MAX_WORKERS={SLOTS}",
    CONDUIT: "worker, Conduit (php -S)",
    BARE: f"{POOL} runners, no queue",
}
COUNTS = {TASKMASTER: 600, RUNNER: 1600, AHEAD: 1600, CONDUIT: 120, BARE: 1600}
ROUNDS = {LIGHT.name: 5, FULL.name: 3}
PAIRS = 20
TWICE, MOST_OF = 2.0, 0.8
"""What the runner has to reach: of the taskmasters' rate, and of the rate without a queue."""


async def rate(phorge: Phorge, way: str, workload: Workload, phids: list[str]) -> float:
    count = COUNTS[way]
    if way == BARE:
        return await without_queue(phorge.root, workload, phids, count)
    if way == TASKMASTER:
        return await with_queue(phorge, workload, phids, count, partial(taskmasters, phorge, count=POOL))
    if way == AHEAD:
        ahead = partial(worker, phorge, RUNNER, MAX_WORKERS=SLOTS, LEASE_LIMIT=SLOTS, RUNNER_PROCESSES=str(POOL))
        return await with_queue(phorge, workload, phids, count, ahead)
    return await with_queue(phorge, workload, phids, count, partial(worker, phorge, way))


async def rates(phorge: Phorge, workload: Workload, phids: list[str]) -> dict[str, float]:
    """Way -> median of its rounds."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(ROUNDS[workload.name]):
        for way in WAYS:
            found[way].append(await rate(phorge, way, workload, phids))
            print(f"# {workload.name}, round {number + 1}, {way}: {found[way][-1]:.0f}/s", file=sys.stderr)
    return {way: statistics.median(values) for way, values in found.items()}


async def measure(phorge: Phorge) -> dict[str, Any]:
    phids = make_objects(phorge)
    throughput = {workload.name: await rates(phorge, workload, phids) for workload in (LIGHT, FULL)}
    runner = await of_a_runner(phorge.root, LIGHT, phids)
    daemon, overseer = await of_a_taskmaster(phorge, LIGHT, phids)
    starts = {TASKMASTER: partial(taskmasters, phorge), RUNNER: partial(worker, phorge, RUNNER, MAX_WORKERS="1")}
    latency = {
        way: statistics.median(await behind_a_failure(phorge, PAIRS, start, f"latency-{way}.log"))
        for way, start in starts.items()
    }
    return {
        "tasks per second": throughput,
        "MiB of a runner after so many tasks": runner,
        "MiB of a taskmaster": daemon,
        "MiB of its overseer": overseer,
        "seconds until a task behind a failing one is done": latency,
    }


def show(found: dict[str, Any]) -> None:
    throughput = found["tasks per second"]
    print(f"{'tasks a second (median)':28}" + "".join(f"{name:>30}" for name in throughput))
    for way, label in WAYS.items():
        print(f"{label:28}" + "".join(f"{values[way]:>30.0f}" for values in throughput.values()))
    steps = ", ".join(
        f"{size:.1f} after {count}" for count, size in found["MiB of a runner after so many tasks"].items()
    )
    print(f"\nMiB of a runner: {steps}")
    print(f"MiB of a taskmaster: {found['MiB of a taskmaster']:.1f}, its overseer: {found['MiB of its overseer']:.1f}")
    print(f"\nseconds until a task behind a failing one is done, one process, median of {PAIRS}:")
    for way, seconds in found["seconds until a task behind a failing one is done"].items():
        print(f"  {way}: {seconds:.3f}")


def reached(rates_of: dict[str, float]) -> bool:
    """Whether the runner is as fast as it has to be; says so."""
    best = max(rates_of[RUNNER], rates_of[AHEAD])
    twice, most = best / rates_of[TASKMASTER], best / rates_of[BARE]
    ok = twice >= TWICE and most >= MOST_OF
    print(
        f"\n{'reached' if ok else 'MISSED'}: {twice:.2f} times the taskmasters' rate (at least {TWICE:g}),"
        f" {most:.0%} of the rate without a queue (at least {MOST_OF:.0%})"
    )
    return ok


def main() -> int:
    try:
        what = given()
    except NotGivenError as error:
        print(f"not run. {error}")
        return 0
    with installed(what) as phorge:
        install_extension(phorge)
        found = asyncio.run(measure(phorge))
    show(found)
    print(json.dumps(found))
    return 0 if reached(found["tasks per second"][LIGHT.name]) else 1


if __name__ == "__main__":
    sys.exit(main())
