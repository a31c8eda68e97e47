"""What a worker costs with 1,000 tasks in flight on MySQL's or MariaDB's tables: memory, and CPU for its heartbeats.

Usage: python benchmarks/in_flight.py [SECONDS]   (60 unless given; a private MariaDB server is started)
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import mariadb
from support.php_side import Php

TASKS = 1000
CLASS = "BenchmarkWaits"
HANDLER = f"""
import asyncio
from gorge_worker import TaskContext, task_handler

@task_handler("{CLASS}")
async def wait(context: TaskContext) -> None:
    await asyncio.sleep(86400)
"""


def pss_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(seconds: float) -> None:
    with mariadb.own_server() as server, tempfile.TemporaryDirectory() as folder:
        url = server.create_database("phorge_worker")
        php = Php(server.connect("phorge_worker")).create_tables()
        for number in range(TASKS):
            php.enqueue(CLASS, f'{{"documentPHID":"PHID-TASK-{number:020}","parameters":[],"strict":false}}')
        Path(folder, "bench_handlers.py").write_text(HANDLER)
        environment = {**os.environ, "TASK_QUEUE_URL": url, "HANDLERS": "bench_handlers", "PYTHONPATH": folder}
        environment |= {"MAX_WORKERS": str(TASKS), "LEASE_LIMIT": str(TASKS), "LOG_LEVEL": "warning"}
        environment |= {"LISTEN_ADDR": f"127.0.0.1:{mariadb.free_port()}", "DRAIN_TIMEOUT_SEC": "0"}
        process = subprocess.Popen([sys.executable, "-m", "gorge_worker", "run"], env=environment)
        try:
            while (
                php.rows("SELECT COUNT(*) AS held FROM worker_activetask WHERE leaseOwner IS NOT NULL")[0]["held"]
                < TASKS
            ):
                time.sleep(0.1)
            before = cpu_seconds(process.pid)
            time.sleep(seconds)
            used = cpu_seconds(process.pid) - before
            [row] = php.rows(
                "SELECT COUNT(DISTINCT leaseExpires) AS ends, MIN(leaseExpires) - UNIX_TIMESTAMP() AS shortest "
                "FROM worker_activetask"
            )
            print(
                f"tasks in flight {TASKS}, PSS {pss_mb(process.pid):.1f} MB, CPU {used * 60 / seconds:.2f} s a minute"
            )
            print(f"shortest lease left {row['shortest']} s, {row['ends']} different ends")
        finally:
            process.kill()  # an orderly end would name each of the tasks
            process.wait()
            php.close()


if __name__ == "__main__":
    main(float(sys.argv[1]) if sys.argv[1:] else 60.0)
