"""Middleware for WSGI and ASGI: a request that writes carries `Fence: NUMBER`, and a stale one is refused.

Copy it beside fence.py. `resource_of` tells from the path of a request what is written, or None for what is not fenced.
The handler runs while every other writer of that resource is kept out: between the check and the write nobody comes.
"""

import asyncio
import hashlib
import json
import os
import re

from fence import Stale, fenced

SAFE = ("GET", "HEAD", "OPTIONS")


def _refusal(status, error, **more):
    return status, json.dumps({"error": error, **more}).encode()


def _check(header):
    """The fence of a header, or the refusal."""
    if header is None:
        return None, _refusal("428 Precondition Required", "fence_required")
    if not re.fullmatch(r"[1-9][0-9]{0,18}", header) or int(header) >= 2**63:
        return None, _refusal("400 Bad Request", "bad_fence")
    return int(header), None


def _stale(stale):
    return _refusal("412 Precondition Failed", "stale_fence", highest=str(stale.highest))


def _file(folder, resource):
    return os.path.join(folder, hashlib.sha256(resource.encode()).hexdigest())


class WsgiFence:
    def __init__(self, app, folder, resource_of=lambda path: path):
        self.app, self.folder, self.resource_of = app, folder, resource_of

    def __call__(self, environ, start_response):
        resource = self.resource_of(environ.get("PATH_INFO", ""))
        if environ["REQUEST_METHOD"] in SAFE or resource is None:
            return self.app(environ, start_response)
        fence, refusal = _check(environ.get("HTTP_FENCE"))
        if refusal is None:
            try:
                with fenced(_file(self.folder, resource), fence):
                    body = self.app(environ, start_response)
                    try:
                        return list(body)  # all of it, while nobody else can come in
                    finally:
                        getattr(body, "close", lambda: None)()
            except Stale as stale:
                refusal = _stale(stale)
        start_response(refusal[0], [("Content-Type", "application/json"), ("Content-Length", str(len(refusal[1])))])
        return [refusal[1]]


class AsgiFence:
    def __init__(self, app, folder, resource_of=lambda path: path):
        self.app, self.folder, self.resource_of = app, folder, resource_of

    async def __call__(self, scope, receive, send):
        resource = self.resource_of(scope["path"]) if scope["type"] == "http" else None
        if resource is None or scope["method"] in SAFE:
            return await self.app(scope, receive, send)
        found = [value.decode("latin-1") for name, value in scope["headers"] if name == b"fence"]
        fence, refusal = _check(",".join(found) if found else None)
        if refusal is None:
            inside = fenced(_file(self.folder, resource), fence)
            try:
                await asyncio.to_thread(inside.__enter__)  # it may have to wait for its turn
            except Stale as stale:
                refusal = _stale(stale)
            else:
                try:
                    return await self.app(scope, receive, send)
                finally:
                    inside.__exit__(None, None, None)
        status, body = refusal
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": int(status[:3]), "headers": headers})
        await send({"type": "http.response.body", "body": body})
