"""Installed in a tool's environment as sitecustomize.py: replaces addresses of the Hub, which some tools have built in, by loopback's."""
import os
import urllib.request


def here(url):
    return url.replace("https://huggingface.co", os.environ["PEERS_HUB"], 1) if isinstance(url, str) else url


if "PEERS_HUB" in os.environ:
    init = urllib.request.Request.__init__
    urllib.request.Request.__init__ = lambda self, url, *more, **named: init(self, here(url), *more, **named)
    plain_open = urllib.request.OpenerDirector.open
    urllib.request.OpenerDirector.open = lambda self, url, *more, **named: plain_open(self, here(url), *more, **named)
    for name in ("httpx", "httpx2"):
        try:
            module = __import__(name)
        except ImportError:
            continue
        for client in (module.Client, module.AsyncClient):
            def build(self, method, url, *more, original=client.build_request, **named):
                return original(self, method, here(url), *more, **named)
            client.build_request = build
