"""What a store's errors are to a caller of the queue's API."""

from __future__ import annotations

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from gorge_worker.queues.store import BadTask, EventConflict, NoSuchTask, NotSupported, StoreError
from gorge_worker.web.errors import INTERNAL, Refused

log = structlog.get_logger()

EVENT_CONFLICT = "ERR_EVENT_CONFLICT"


def store_errors() -> Middleware:
    """A middleware that turns a store's errors into refusals, and logs the beginning and the end of its trouble."""
    troubled: set[str] = set()

    @web.middleware
    async def translate(request: web.Request, handler: Handler) -> web.StreamResponse:
        # By route: while a disk is full, reading goes on working and must not pass for the end of the trouble.
        route = str(request.match_info.route.resource)
        try:
            answer = await handler(request)
        except BadTask as error:
            raise Refused(400, str(error)) from error
        except NoSuchTask as error:
            raise Refused(404, str(error)) from error
        except EventConflict as error:
            raise Refused(409, str(error), EVENT_CONFLICT) from error
        except NotSupported as error:
            raise Refused(501, str(error)) from error
        except StoreError as error:
            if route not in troubled:
                troubled.add(route)
                log.error("the store is in trouble", path=request.path, reason=str(error))  # noqa: TRY400 - no bug of ours
            raise Refused(500, INTERNAL) from error
        if route in troubled:
            troubled.discard(route)
            log.info("the store works again", path=request.path)
        return answer

    return translate
