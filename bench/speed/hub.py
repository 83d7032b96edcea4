"""A hub on loopback with one model. It prints its port and serves until its standard input ends.

usage: hub.py CONFIG
"""
import http.server
import json
import sys
import threading

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SHARDS = 4


def index():
    """The index of a checkpoint: the tensors, and the shards that contain them."""
    names = [f"model.layers.{layer}.{part}.weight" for layer in range(32)
             for part in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
                          "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", "input_layernorm",
                          "post_attention_layernorm")]
    shards = {name: f"model-{i * SHARDS // len(names) + 1:05}-of-{SHARDS:05}.safetensors"
              for i, name in enumerate(names)}
    return json.dumps({"metadata": {"total_size": 16060522496}, "weight_map": shards}).encode()


def main():
    with open(sys.argv[1], "rb") as file:
        files = {"config.json": file.read(), "model.safetensors.index.json": index()}

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):
            body = files.get(self.path.rsplit("/", 1)[-1])
            status = "200 OK" if body is not None else "404 Not Found"
            body = body or b""
            head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nX-Repo-Commit: {COMMIT}\r\n\r\n"
            self.wfile.write(head.encode() + body)  # at once: two writes would wait for each other

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
