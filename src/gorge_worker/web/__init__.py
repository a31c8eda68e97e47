"""The HTTP faces: the worker's own API and the queue's, over aiohttp.web."""
