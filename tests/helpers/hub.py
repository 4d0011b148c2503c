"""A stand-in for the HTTP interface of the Hugging Face hub: it checks what is sent, and fails where it is told to."""

import base64
import contextlib
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "hf_" + "x" * 30


class Hub:
    """What was asked, what was stored, and which request is to fail, by the end of its path."""

    def __init__(self):
        self.asked, self.created, self.stored, self.files = [], [], {}, {}
        self.fails, self.drops, self.private, self.exists = {}, "", False, False

    def failure(self, path):
        return next((status for part, status in self.fails.items() if part in path), None)


def handler(hub):
    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def body(self):
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def answer(self, document, status=200):
            data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def handle_any(self):
            body, path = self.body(), self.path.split("?")[0]
            hub.asked.append((self.command, path))
            if hub.drops and hub.drops in path:
                self.close_connection = True
                return self.connection.shutdown(2)
            if status := hub.failure(path):
                return self.answer({"error": "told to fail"}, status)
            if not path.startswith("/store/") and self.headers.get("Authorization") != f"Bearer {TOKEN}":
                return self.answer({"error": "Invalid token"}, 401)
            return self.answer_to(path, body)

        do_GET = do_POST = do_PUT = handle_any

        def answer_to(self, path, body):
            if path.startswith("/store/"):
                oid = path.removeprefix("/store/")
                assert hashlib.sha256(body).hexdigest() == oid
                hub.stored[oid] = body
                return self.answer({})
            asked = json.loads(body) if body and not path.endswith("/commit/main") else {}
            if path == "/api/repos/create":
                hub.created.append(asked)
                if not hub.exists:
                    hub.private = asked.get("visibility") == "private"
                url = f"{hub.address}/{asked.get('organization', 'me')}/{asked['name']}"
                return self.answer({"url": url}, 409 if hub.exists else 200)
            if path == "/api/validate-yaml":
                return self.answer({"errors": [], "warnings": []})
            if "/preupload/" in path:
                files = [{"path": one["path"], "shouldIgnore": False} for one in asked["files"]]
                for one in files:
                    one["uploadMode"] = "lfs" if one["path"].endswith(".safetensors") else "regular"
                return self.answer({"files": files})
            if path.endswith("/info/lfs/objects/batch"):
                return self.answer({"transfer": "basic", "objects": [self.place(one) for one in asked["objects"]]})
            if path.endswith("/commit/main"):
                return self.commit([json.loads(line) for line in body.splitlines()])
            known = hub.exists or hub.created
            return self.answer({"id": "me/model", "private": hub.private} if known else {}, 200 if known else 404)

        def place(self, one):
            return {**one, "actions": {"upload": {"href": f"{hub.address}/store/{one['oid']}"}}}

        def commit(self, lines):
            for line in lines[1:]:
                value = line["value"]
                if line["key"] == "lfsFile":
                    assert value["algo"] == "sha256" and len(hub.stored[value["oid"]]) == value["size"]
                    hub.files[value["path"]] = hub.stored[value["oid"]]
                else:
                    assert line["key"] == "file" and value["encoding"] == "base64"
                    hub.files[value["path"]] = base64.b64decode(value["content"])
            self.answer({"commitUrl": f"{hub.address}/me/model/commit/1", "commitOid": "1", "hookOutput": ""})

    return Answering


@contextlib.contextmanager
def standing_in():
    """Give a hub that answers until the end."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(hub))
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
