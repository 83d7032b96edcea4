"""Hostile links, names and configs in the built page: packaging/web/test runs this."""

import base64
import json
import os
import sys
import urllib.parse
import zlib

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging", "web"))
from test_page import CONFIGS, PAGE, address, answered, browser, page  # noqa: E402, F401

with open(os.path.join(CONFIGS, "qwen3-0.6b.json"), encoding="utf-8") as file:
    CONFIG = file.read()
MARKUP = (
    "<!DOCTYPE html><img src=x onerror=document.title=`PWNED`>",
    "<!DOCTYPE html><meta http-equiv=refresh content=0;url=?away>",
    "<!DOCTYPE html><body><form action=https:example.org><iframe srcdoc=x><script>document.title=`PWNED`<script>",
    "<!DOCTYPE html><body><svg onload=document.title=`PWNED`><a href=javascript:document.title=`PWNED`>x<a><base href=?away>",
    "'\"><script>document.title='PWNED'</script>",
)


def packed(files):
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = squeezer.compress(files if isinstance(files, bytes) else json.dumps(files).encode()) + squeezer.flush()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def quoted(word):
    return "'" + word.replace("'", "'\\''") + "'"


def link(line, files):
    return "#q=" + urllib.parse.quote(line) + "&f=" + packed(files)


def opened(page, address, hash):  # noqa: F811
    page.goto("about:blank")
    page.goto(address + "index.html" + hash)
    answered(page)


def check_safe(page, address):  # noqa: F811
    page.wait_for_timeout(100)  # for what a broken image or a refresh would do
    assert page.title() != "PWNED"
    assert page.url.startswith(address + "index.html#"), page.url
    found = page.evaluate("""[...document.querySelectorAll("#answer *")].filter((e) =>
        !/^(h1|h2|p|b|i|u|ul|li|sup|span|div|section|table|thead|tbody|tr|th|td|figure|figcaption|code|details|summary|svg|path|text|pre|button)$/.test(e.localName) ||
        [...e.attributes].some(({ name, value }) => /^(on|href|src|xlink|action|form|id$)/.test(name) || /javascript:/i.test(name === "style" ? value : "")))
        .map((e) => e.outerHTML)""")
    assert found == []
    assert all(url.startswith((address, "blob:")) for url in page.asked), page.asked


@pytest.mark.parametrize("markup", MARKUP)
def test_names_are_text(page, address, markup):  # noqa: F811
    forms = ("", "table", "json", "csv", "markdown", "github", "html", "args") if markup == MARKUP[0] else ("table", "html")
    for name, file in ((markup + ".json", markup + ".json"), (markup, markup + "/config.json")):
        for command, form in [("", form) for form in forms] + [("explain", "table"), ("fit", "table"), ("compare", "table")] * (markup == MARKUP[0]):
            line = f"kvplan {command} {quoted(name)} --engine vllm --gpu l40s" + (f" --format {form}" if form else "")
            opened(page, address, link(line, {file: CONFIG}))
            check_safe(page, address)
            if form in ("table", "json", "csv"):
                assert page.locator("#answer pre").count() == 1


def test_forms_that_are_asked_for_twice(page, address):  # noqa: F811
    name = MARKUP[0] + ".json"
    for words in ("--format html --format table", "--json --format html", "--format html --json", "--format=html --format=csv", "--format table --format=html",
                  "-- --format html", "--format html -- x", "-o --format html", "-o x.html --format table", "--output=x.html --json", "--format html --help"):
        opened(page, address, link(f"kvplan {quoted(name)} {words}", {name: CONFIG, "x.html": MARKUP[0], "--format": MARKUP[0]}))
        check_safe(page, address)


def test_configs_are_text(page, address):  # noqa: F811
    for markup in MARKUP[:3]:
        config = {**json.loads(CONFIG), "architectures": [markup], "torch_dtype": markup, "_name_or_path": markup, "quantization_config": {"quant_method": markup}}
        for model_type in ("qwen3", markup):
            for form in ("html", "table"):
                text = json.dumps({**config, "model_type": model_type})
                opened(page, address, link(f"kvplan a.json --assume --format {form}", {"a.json": text}))
                check_safe(page, address)


def test_a_report_is_rebuilt_whatever_it_holds(page, address):  # noqa: F811
    """As if the program's own escaping had failed."""
    opened(page, address, "#q=kvplan+qwen3-0.6b.json")
    for markup in MARKUP + ("<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=document.title=`PWNED`&gt;'>",
                            "<svg><style><img src=x onerror=document.title=`PWNED`></style>", "<template><img src=x onerror=document.title=`PWNED`></template>",
                            "<p style=\"background:url(https://example.org)\" onclick=x id=state>", "<i style=\"width:9%;position:fixed\">"):
        page.evaluate("(out) => show({ exit: 0, out, err: '' }, 'html', [])", "<!DOCTYPE html>\n<html><body>" + markup + "</body></html>")
        check_safe(page, address)
        assert page.evaluate("document.querySelectorAll('#answer [style]').length") == 0
    assert all("Content Security Policy" in text for text in page.complaints)  # the browser's second lock
    page.complaints.clear()


def test_no_script_but_the_page_s_own(page, address):  # noqa: F811
    for name in os.listdir(PAGE):
        with open(os.path.join(PAGE, name), encoding="utf-8") as file:
            assert "unsafe-inline" not in file.read().split("<body>")[0]
    opened(page, address, "#q=kvplan+qwen3-0.6b.json")
    page.evaluate("""document.body.append(
        Object.assign(document.createElement("script"), { textContent: "document.title = 'PWNED'" }),
        Object.assign(document.createElement("script"), { src: "sw.js" }),
        Object.assign(document.createElement("style"), { textContent: "body { display: none }" }))""")
    page.evaluate("""document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='document.title = `PWNED`'><p onclick='document.title = `PWNED`' id=clicked>")""")
    page.evaluate("document.getElementById('clicked').click()")
    page.wait_for_timeout(200)
    assert page.title() != "PWNED"
    assert page.evaluate("getComputedStyle(document.body).display") != "none"
    assert any("Content Security Policy" in text for text in page.complaints)
    page.complaints.clear()


@pytest.mark.parametrize("files,says", [
    (b'{"a.json": "' + b"x" * (64 << 20) + b'"}', "too large"),
    (json.dumps({f"{n}": "" for n in range(5000)}).encode(), "too large"),
    (b"[" * 1000000, "missing"), (b"null", "missing"), (b'"x"', ""), (b"7", ""), (b"\xff\xfe", "missing"), (b'{"a.json": {"b": 1}, "b.json": 7}', ""),
])
def test_links_are_bounded(page, address, files, says):  # noqa: F811
    opened(page, address, "#q=kvplan+qwen3-0.6b.json&f=" + packed(files))
    assert says in page.locator("#answer").inner_text()
    check_safe(page, address)


def test_long_links(page, address):  # noqa: F811
    opened(page, address, "#q=kvplan+qwen3-0.6b.json&f=" + "A" * 150000)
    assert "too large" in page.locator("#answer").inner_text()
    opened(page, address, "#q=" + "x" * 1500000)
    check_safe(page, address)


def test_a_link_s_files_are_said_to_be_the_link_s(page, address):  # noqa: F811
    """They replace an example only while the link is open, and store no settings, no cache and nothing outside their folder."""
    evil = json.dumps({**json.loads(CONFIG), "num_hidden_layers": 3})
    names = ["qwen3-0.6b.json", "../x.json", "/x.json", "a/../../x.json", ".", "..", "", "a//b", "../home/web_user/.config/kvplan/calibration.json",
             ".cache/huggingface/hub/models--org--name/snapshots/main/config.json", ".config/kvplan/calibration.json", "__proto__", "a\0b"]
    opened(page, address, link("kvplan qwen3-0.6b.json --json", {name: evil for name in names}))
    assert '"num_layers": 3' in page.locator("#answer pre").inner_text()
    assert "qwen3-0.6b.json came with the link that you opened" in page.locator("#answer").inner_text()
    page.evaluate("location.hash = '#q=kvplan+x.json+--json'")
    page.locator("#answer .verdict.bad").wait_for()
    for line in ("org/name", "../x.json", "/x.json"):
        opened(page, address, link(f"kvplan {line} --offline --json", {name: evil for name in names}))
        assert page.locator("#answer pre").count() == 0, line
    page.evaluate("location.hash = '#q=kvplan+qwen3-0.6b.json+--json'")
    page.locator("#answer pre").wait_for()
    assert '"num_layers": 28' in page.locator("#answer pre").inner_text()
    assert "came with the link" not in page.locator("#answer").inner_text()


def test_no_link_holds_a_token(page, address):  # noqa: F811
    token = "hf_" + "aB3" * 10
    for line in (f"kvplan qwen3-0.6b.json --token {token}", f"kvplan qwen3-0.6b.json --token={token}", f"HF_TOKEN={token} kvplan qwen3-0.6b.json",
                 f"kvplan qwen3-0.6b.json -- {token}", f"kvplan {token}"):
        opened(page, address, "#q=" + urllib.parse.quote(line))
        assert token not in urllib.parse.unquote(page.url), line


def test_a_model_s_name_is_no_remedy(page, address):  # noqa: F811
    name = "--gpu h100-80gb"
    opened(page, address, link(f"kvplan ./{quoted(name)}/config.json qwen3-0.6b.json --gpu l40s", {name + "/config.json": CONFIG}))
    opened(page, address, link(f"kvplan {quoted('./' + name + '.json')} qwen3-0.6b.json --gpu l40s,l4 --engine vllm", {name + ".json": CONFIG}))
    assert page.locator("#answer tbody").count() > 0
    assert page.locator("#answer td[data-name=model] button").count() == 0
