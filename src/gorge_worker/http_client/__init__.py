"""The one way in which calls to the queue and to a backend go out over HTTP.

Narrow on purpose: one base URL, bounded answers, no redirects, no cookies, no compression, no proxies, and errors that
tell the one thing that matters to a worker: whether the other side may have acted on the call.
"""

from gorge_worker.http_client.answers import AnswerTooLarge, HttpAnswer, HttpError, NoAnswer, NotSent
from gorge_worker.http_client.client import HttpClient

__all__ = ["AnswerTooLarge", "HttpAnswer", "HttpClient", "HttpError", "NoAnswer", "NotSent"]
