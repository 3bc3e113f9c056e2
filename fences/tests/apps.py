"""The handler behind the middleware of Python. `wsgi` and `asgi` write one line a request, badly if two come at once."""

import asyncio
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "python"))

from fence_http import AsgiFence, WsgiFence

FOLDER = os.environ["FENCES_FOLDER"]
LOG = pathlib.Path(os.environ["FENCES_LOG"])


def resource_of(path):
    return path if path.startswith("/reports/") else None


def note(fence):
    text = LOG.read_text() if LOG.exists() else ""
    yield
    LOG.write_text(f"{text}{fence}\n")


def plain_wsgi(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    if environ["REQUEST_METHOD"] == "POST" and "HTTP_FENCE" in environ:
        for _ in note(environ["HTTP_FENCE"]):
            time.sleep(0.002)
    yield b"done"


async def plain_asgi(scope, receive, send):
    if scope["type"] != "http":
        return
    fence = dict(scope["headers"]).get(b"fence")
    if scope["method"] == "POST" and fence:
        for _ in note(fence.decode()):
            await asyncio.sleep(0.002)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"done"})


wsgi = WsgiFence(plain_wsgi, FOLDER, resource_of)
asgi = AsgiFence(plain_asgi, FOLDER, resource_of)


def serve_wsgi(port):
    import socketserver
    import wsgiref.simple_server

    class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
        daemon_threads = True
        request_queue_size = 64

    class Quiet(wsgiref.simple_server.WSGIRequestHandler):
        def log_message(self, *_):
            pass

    wsgiref.simple_server.make_server("127.0.0.1", port, wsgi, Server, Quiet).serve_forever()


def serve_asgi(port):
    import uvicorn

    uvicorn.run(asgi, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    {"wsgi": serve_wsgi, "asgi": serve_asgi}[sys.argv[1]](int(sys.argv[2]))
