"""`python -m gorge_worker`, for where the console script is not on the PATH."""

from __future__ import annotations

from gorge_worker.cli import main

if __name__ == "__main__":
    main()
