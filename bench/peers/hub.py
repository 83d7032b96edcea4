"""A Hub on loopback: the configs of testdata/observations/models by name, each with one safetensors file that only has a header."""
import http.server
import json
import os
import struct
import threading

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def header(elements):
    """The first bytes of a safetensors file with one tensor of 16 bits."""
    text = json.dumps({"model.embed_tokens.weight": {"dtype": "BF16", "shape": [elements], "data_offsets": [0, 2 * elements]}})
    return struct.pack("<Q", len(text)) + text.encode()


class Hub:
    """`with Hub(folder, elements) as hub`: hub.url, hub.requests since the last clear()."""

    def __init__(self, folder, elements):
        hub = self
        self.requests = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def body(self):
                path = self.path.split("?")[0].strip("/").split("/")
                model = path[3] if path[:2] == ["api", "models"] and len(path) > 3 else path[1] if len(path) > 1 else ""
                config = os.path.join(folder, model + ".json")
                if not os.path.isfile(config):
                    return None
                if path[:2] == ["api", "models"]:
                    files = [{"rfilename": "config.json", "size": os.path.getsize(config)},
                             {"rfilename": "model.safetensors", "size": 2 * elements + 200}]
                    if "tree" in path:
                        return json.dumps([{"type": "file", "path": f["rfilename"], "size": f["size"]} for f in files]).encode()
                    return json.dumps({"id": "org/" + model, "modelId": "org/" + model, "sha": COMMIT, "siblings": files,
                                       "safetensors": {"parameters": {"BF16": elements}, "total": elements}}).encode()
                if path[-1] == "config.json":
                    with open(config, "rb") as file:
                        return file.read()
                return header(elements) if path[-1] == "model.safetensors" else None

            def answer(self, with_body):
                hub.requests += 1
                body = self.body()
                code = 404 if body is None else 200
                body = body or b""
                span = self.headers.get("Range", "")
                if code == 200 and span.startswith("bytes="):
                    first, _, last = span[6:].partition("-")
                    body, code = body[int(first or 0):int(last or 1 << 40) + 1], 206
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("X-Repo-Commit", COMMIT)
                self.send_header("ETag", '"' + COMMIT + '"')
                self.end_headers()
                if with_body:
                    self.wfile.write(body)

            def do_GET(self):
                self.answer(True)

            def do_HEAD(self):
                self.answer(False)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
