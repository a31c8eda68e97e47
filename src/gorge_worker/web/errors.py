"""What goes wrong with a request is answered as `{"error": {"code", "message"}}`, and shows nothing of the insides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import structlog
from aiohttp import web

from gorge_worker.errors import GorgeWorkerError
from gorge_worker.web.answers import json_answer

log = structlog.get_logger()

INTERNAL = "something went wrong here; the log of this service says what"
"""All that a caller gets to know about a fault of ours."""

_CODES = {
    400: "ERR_BAD_REQUEST",
    401: "ERR_UNAUTHORIZED",
    403: "ERR_FORBIDDEN",
    404: "ERR_NOT_FOUND",
    405: "ERR_METHOD_NOT_ALLOWED",
    408: "ERR_TIMEOUT",
    409: "ERR_LEASE_CONFLICT",
    413: "ERR_TOO_LARGE",
    415: "ERR_UNSUPPORTED_MEDIA_TYPE",
    417: "ERR_EXPECTATION_FAILED",
    431: "ERR_HEADERS_TOO_LARGE",
    500: "ERR_INTERNAL",
    501: "ERR_NOT_SUPPORTED",
}

AnyHandler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Refused(GorgeWorkerError):
    """Raised by whatever finds a request unacceptable: the status, and a message for the caller to read.

    The status decides the code, where no other is given.
    """

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def error_answer(
    status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None
) -> web.Response:
    """An answer in the error envelope; the status decides the code, where no other is given."""
    error = {"code": code or _CODES[status], "message": message}
    return json_answer({"error": error}, status=status, headers=headers)


def enveloped(handler: AnyHandler) -> AnyHandler:
    """The outermost layer of a server: what leaves it is an answer of `handler` or an error in the envelope.

    It lies around the whole application and not among its middlewares, which do not see every refusal of aiohttp's.
    """

    async def answered(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await handler(request)
        except Refused as refused:
            return error_answer(refused.status, str(refused), code=refused.code)
        except web.HTTPException as raised:
            return _translated(request, raised)
        except ConnectionError:
            return error_answer(400, "the connection broke")
        except Exception:
            log.exception("a request crashed", method=request.method, path=request.path)
            return error_answer(500, INTERNAL)

    return answered


def _translated(request: web.BaseRequest, raised: web.HTTPException) -> web.Response:
    """The envelope for a refusal that aiohttp made itself."""
    if isinstance(raised, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(raised.allowed_methods))
        return error_answer(405, f"{request.method} is not possible here, only {allowed}", headers={"Allow": allowed})
    if isinstance(raised, web.HTTPNotFound):
        return error_answer(404, f"there is no {request.path}")
    if isinstance(raised, web.HTTPExpectationFailed):
        return error_answer(417, "the only expectation that can be met is 100-continue")
    raise raised
