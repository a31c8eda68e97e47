"""The calls of the Go queue server that only generation 1 has, or has changed."""

from __future__ import annotations

from typing import Any

from support.go_table import Conflict, FencedGoTable

FENCED = ("finalize", "renew", "resolve")
WEEK = 604_800

Reply = tuple[int, dict[str, Any]]


def act_fenced(table: FencedGoTable, route: str, body: dict[str, Any], owner: str) -> Reply | None:
    """None for the calls that are as they were in generation 0."""
    if route == "meta":
        return 200, {"data": {"executionVersion": 1, "leaseOutcomes": True}}
    if route == "lease":
        rows = table.lease_some(owner, max(1, body["limit"]), body.get("taskClasses") or [])
        return 200, {"data": [row.wire() for row in rows]}
    if route not in FENCED:
        return None
    if not _is_sound(route, body):
        return 400, {"error": {"code": "ERR_BAD_REQUEST", "message": f"invalid {route}"}}
    try:
        return 200, {"data": _under_lease(table, route, body)}
    except Conflict:
        message = "task lease no longer belongs to this execution"
        return 409, {"error": {"code": "ERR_LEASE_CONFLICT", "message": message}}


def _is_sound(route: str, body: dict[str, Any]) -> bool:
    if not (body.get("taskID", 0) > 0 and body.get("leaseOwner") and body.get("leaseExpires", 0) > 0):
        return False
    match route:
        case "finalize":
            followups = body.get("followups") or []
            return bool(body["duration"] >= 0) and len(followups) <= 1000 and all(one["taskClass"] for one in followups)
        case "renew":
            return bool(0 < body["duration"] <= WEEK)
        case _:
            waits = (body.get("duration", 0), body.get("retryWait", 0))
            return body["outcome"] in ("retry", "failure", "yield") and all(0 <= wait <= WEEK for wait in waits)


def _under_lease(table: FencedGoTable, route: str, body: dict[str, Any]) -> dict[str, Any]:
    """Raises Conflict."""
    lease = (body["taskID"], body["leaseOwner"], body["leaseExpires"])
    if route == "finalize":
        table.finalize(*lease, body["followups"])
        return {"status": "finalized"}
    if route == "renew":
        return table.renew(*lease, body["duration"]).wire()
    row = table.held(*lease)
    match body["outcome"]:
        case "retry":
            table.fail(row.id, body.get("retryWait", 300))
        case "yield":
            table.yield_(row.id, body["duration"])
        case "failure":
            table.archive(row.id, "failure")
    return {"status": "resolved"}
