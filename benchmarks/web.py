"""Load on the web app: many clients poll pages while jobs on a million rows run.

Prints the latency of page requests (p50, p95, highest), requests per second, and what became of every job.

    python -m benchmarks.web [--clients 200] [--jobs 4] [--rows 1000000] [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console

from tablecloak.sample import census_to_file
from tablecloak.server.app import free_port

TOKEN = "benchmark"
PAGES = ("load", "roles", "goals", "run", "policy")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tablecloak-bench-") as folder:
        found = measure(Path(folder), given.clients, given.jobs, given.rows)
    show(found)
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0 if found["done"] == given.jobs and not found["errors"] else 1


def measure(folder: Path, n_clients: int, n_jobs: int, n_rows: int) -> dict[str, Any]:
    data = folder / "census.csv"
    census_to_file(data, n_rows)
    port = free_port()
    command = [sys.executable, "-m", "tablecloak.cli.main", "serve", "--port", str(port), "--no-browser", "-q",
               "--directory", str(folder / "server"), "--root", str(folder), "--workers", "2"]  # fmt: skip
    server = subprocess.Popen(command, env={**os.environ, "TABLECLOAK_TOKEN": TOKEN})
    try:
        return asyncio.run(_load(f"http://127.0.0.1:{port}", data, n_clients, n_jobs))
    finally:
        server.terminate()
        server.wait(30)


async def _load(base: str, data: Path, n_clients: int, n_jobs: int) -> dict[str, Any]:
    limits = httpx2.Limits(max_connections=n_clients + 10)
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(base_url=base, headers=headers, timeout=600, limits=limits) as client:
        await _started(client)
        dataset = (await client.post("/api/v1/datasets/open", json={"source": str(data)})).json()["id"]
        project = (await client.post("/api/v1/projects", json={"dataset": dataset})).json()["id"]
        for page in PAGES:  # what is counted once is remembered
            (await client.get(f"/projects/{project}/{page}")).raise_for_status()
        began = time.perf_counter()
        runs = [(await client.post(f"/api/v1/projects/{project}/runs")).json()["id"] for _ in range(n_jobs)]
        latencies: list[float] = []
        errors: list[str] = []
        finished = asyncio.Event()
        clients = [
            asyncio.create_task(_poll(client, project, i, latencies, errors, finished)) for i in range(n_clients)
        ]
        states = await asyncio.gather(*(_ended(client, run) for run in runs))
        finished.set()
        await asyncio.gather(*clients)
    ordered = sorted(latencies)
    return {
        "clients": n_clients,
        "jobs": n_jobs,
        "done": states.count("done"),
        "states": list(states),
        "seconds": time.perf_counter() - began,
        "requests": len(ordered),
        "errors": errors[:10],
        "p50_ms": 1000 * statistics.median(ordered),
        "p95_ms": 1000 * ordered[int(0.95 * len(ordered))],
        "max_ms": 1000 * ordered[-1],
    }


async def _started(client: httpx2.AsyncClient) -> None:
    for _ in range(600):
        try:
            await client.get("/api/v1/projects")
        except httpx2.TransportError:
            await asyncio.sleep(0.1)
        else:
            return
    raise RuntimeError("the server did not start")


async def _poll(
    client: httpx2.AsyncClient, project: str, turn: int, latencies: list[float], errors: list[str], end: asyncio.Event
) -> None:
    """A page, a pause, the next page, as people do who wait."""
    while not end.is_set():
        page = PAGES[turn % len(PAGES)]
        turn += 1
        begin = time.perf_counter()
        answer = await client.get(f"/projects/{project}/{page}")
        latencies.append(time.perf_counter() - begin)
        if answer.status_code != 200:
            errors.append(f"{page}: {answer.status_code}")
        await asyncio.sleep(2 + (turn % 7) / 7)


async def _ended(client: httpx2.AsyncClient, run: str) -> str:
    while True:
        status = str((await client.get(f"/api/v1/runs/{run}")).json()["status"])
        if status not in ("queued", "running"):
            return status
        await asyncio.sleep(1)


def show(found: dict[str, Any]) -> None:
    console = Console()
    console.print(
        f"{found['clients']} clients polling pages, {found['jobs']} jobs: {found['done']} done", highlight=False
    )
    console.print(f"{found['requests']:,} page requests in {found['seconds']:.0f} s, {len(found['errors'])} errors")
    console.print(f"p50 {found['p50_ms']:.0f} ms   p95 {found['p95_ms']:.0f} ms   highest {found['max_ms']:.0f} ms")


if __name__ == "__main__":
    sys.exit(main())
