"""What operators may see: every log of these tests is looked through for secrets, here one that has them to tell."""

from __future__ import annotations

from pathlib import Path

from support.command import run
from support.process import CONDUIT_PASSWORD, CONDUIT_TOKEN, SECRETS, WORKER_TOKEN, Lab, Service
from support.process import address as at

from gorge_worker.masking import MASK


async def test_a_handler_that_logs_and_raises_the_environment_gives_no_secret_away(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        standalone = await lab.standalone(TASK_QUEUE_TOKEN=WORKER_TOKEN, TASK_QUEUE_URL=lab.queue_url, **conduit(lab))
        await is_masked(standalone, await lab.enqueue("Tells"))
        assert await standalone.terminate() == 0


async def test_the_queue_is_not_told_the_secrets_of_a_worker(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        await lab.queue()
        worker = await lab.worker(**conduit(lab))
        await is_masked(worker, await lab.enqueue("Tells"))
        assert await worker.terminate() == 0


async def is_masked(service: Service, task_id: int) -> None:
    """Each line that the task causes is there, with a mask where its secret is."""
    told = set((await service.logged("telling", task=task_id))["secrets"])
    assert told > {f"{name}={MASK}" for name in ("SERVICE_TOKEN", "TASK_QUEUE_TOKEN", "CONDUIT_TOKEN")}
    assert MASK in (await service.logged("handler raised", task=task_id))["exception"]
    assert MASK in (await service.logged("task executed", task=task_id))["reason"]


async def test_trouble_with_the_queue_and_with_conduit_is_told_without_secrets(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        queue = await lab.queue()
        stranger = await lab.worker(TASK_QUEUE_TOKEN=WORKER_TOKEN)
        assert "401" in (await stranger.logged("no lease, the queue is asked again"))["reason"]
        worker = await lab.worker(**conduit(lab))
        for _ in range(3):
            await lab.enqueue("PhabricatorSearchWorker")
        await worker.logged("backend paused, its tasks go back without a failure")
        await queue.kill()
        await worker.logged("no lease, the queue is asked again")


async def test_tokens_in_requests_are_not_logged_whether_they_are_right_or_wrong(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        queue = await lab.queue(SERVICE_TOKEN="another")
        for secret in SECRETS:
            for target in (f"stats?token={secret}", f"{secret}?token={secret}", f"tasks?limit={secret}&token=another"):
                assert (await lab.call("GET", target)).status in (400, 401, 404)
            wrong = await run(
                "enqueue",
                "Sync",
                "--queue",
                f"http://user:{secret}@{at(lab.queue_port)}",
                settings={"TASK_QUEUE_TOKEN": secret},
            )
            assert wrong.code == 1
            assert secret not in wrong.err
        assert await queue.terminate() == 0


def conduit(lab: Lab) -> dict[str, str]:
    """A Conduit that takes no connections."""
    return {"CONDUIT_URL": f"http://user:{CONDUIT_PASSWORD}@{at(lab.port())}", "CONDUIT_TOKEN": CONDUIT_TOKEN}
