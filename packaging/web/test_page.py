"""Compares the page of build-web/page in headless Chromium with build/kvplan."""
import functools
import gzip
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time

import pytest
from playwright.sync_api import expect, sync_playwright

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KVPLAN = os.path.join(ROOT, "build", "kvplan")
CONFIGS = os.path.join(ROOT, "testdata", "configs")
PAGE = os.path.join(ROOT, "build-web", "page")
SHOTS = os.path.join(ROOT, "build-web", "screenshots")
MODELS = sorted(name for name in os.listdir(CONFIGS) if name.endswith(".json"))
ENGINES = ("vllm", "sglang", "llama.cpp")
LARGEST = 1100 * 1024  # by gzip, all files together
EXAMPLE = "#q=kvplan+llama-3.1-8b.json+--engine+vllm+--gpu+rtx-4090+--max-model-len+16k"
LONGEST = 2.0  # seconds, to the first paint and to the first answer
PATIENCE = 60000  # milliseconds, for what is not timed: the machine may be busy
sys.path.insert(0, os.path.join(ROOT, "bench", "speed"))
expect.set_options(timeout=PATIENCE)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Server:
    """Serves the page's folder until it is stopped."""

    def __init__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=PAGE))
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="session")
def address():
    server = Server()
    yield server.address
    server.stop()


@functools.cache  # the fixture of another file of tests is another fixture, but a process has one Playwright
def chromium():
    return sync_playwright().start().chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"])


@pytest.fixture(scope="session")
def browser():
    return chromium()


@pytest.fixture
def page(browser):
    """A page that must print nothing to its console and send requests only to its own server."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    out = context.new_page()
    out.complaints, out.asked = [], []
    out.on("console", lambda message: out.complaints.append(message.text) if message.type == "error" else None)
    out.on("pageerror", lambda error: out.complaints.append(str(error)))
    context.on("request", lambda request: out.asked.append(request.url))
    yield out
    assert out.complaints == []
    context.close()


@pytest.fixture(scope="module")
def open_page(browser, address):
    """One page for the command lines whose answers are compared."""
    out = browser.new_context().new_page()
    out.goto(address)
    answered(out)
    return out


def answered(page):
    expect(page.locator("#state")).to_have_text(re.compile("^answered"))


def asks(page, line):
    """Types a command line and waits for the answer."""
    page.locator("#command").fill(line)
    # Waits until the page has taken the line: before that, it may still show the answer to an older one.
    page.evaluate("addEventListener('change', () => { document.querySelector('#state').textContent = '' }, { capture: true, once: true })")
    page.locator("#command").press("Enter")
    answered(page)


def verdict(page):
    return page.locator("#answer .verdict").first.inner_text()


def native(*words, folder=CONFIGS):
    done = subprocess.run([KVPLAN, *words], cwd=folder, capture_output=True, text=True, env={"HOME": "/nonexistent"})
    return {"exit": done.returncode, "out": done.stdout, "err": done.stderr}


def from_page(page, *words):
    reply = page.evaluate("words => send({ words })", list(words))
    return {key: reply[key] for key in ("exit", "out", "err")}


def test_size():
    sizes = {name: len(gzip.compress(open(os.path.join(PAGE, name), "rb").read(), 9)) for name in os.listdir(PAGE)}
    print(sizes)
    assert sum(sizes.values()) < LARGEST, sizes


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", MODELS)
def test_same_json(open_page, model, engine):
    words = [model, "--engine", engine, "--gpu", "l40s", "--max-model-len", "16k", "--json"]
    assert from_page(open_page, *words) == native(*words)


@pytest.mark.parametrize("command", ["plan", "fit", "compare", "explain"])
@pytest.mark.parametrize("form", ["table", "json", "markdown", "html"])
def test_same_in_every_form(open_page, command, form):
    for model in ("gemma-4-26b.json", "deepseek-v3.json"):
        words = [command, model, "--engine", "vllm", "--gpu", "h200", "--gpu-count", "8", "--format", form]
        assert from_page(open_page, *words) == native(*words)


@pytest.mark.parametrize("words", [
    ["llama-3.1-8b.json", "--engine", "vllm", "--gpu", "l40s", "--format", "args"],
    ["llama-3.1-8b.json", "--engine", "sglang", "--gpu", "l40s", "--format", "k8s"],
    ["diff", "llama-3.1-8b.json", "qwen3-0.6b.json", "--format", "markdown"],
    ["gpus", "rtx"], ["engines"], ["dtypes"], ["formulas", "mla"], ["schema"], ["--help"], ["--version"], [],
    # Both print the same error.
    ["llama-3.1-8b.json", "--gpu", "rtx-4999"], ["nothing.json"], ["llama-3.1-8b.json", "--max-model-len", "many"],
    ["llama-3.1-8b.json", "--engine", "llama.cpp", "--kv-cache-dtype", "fp8"], ["--no-such-option"],
    ["org/name", "--offline"],
])
def test_same_words(open_page, words):
    assert from_page(open_page, *words) == native(*words)


def test_broken_configs_are_refused_alike(open_page):
    folder = os.path.join(ROOT, "testdata", "bad")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    assert len(names) > 20
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
        if any("\ud800" <= c <= "\udfff" for c in text):
            continue  # no text, and so never pasted
        open_page.evaluate("([name, text]) => give(name, { text })", [name, text])
        assert from_page(open_page, name, "--engine", "vllm", "--json") == native(name, "--engine", "vllm", "--json", folder=folder), name


@pytest.mark.parametrize("words,says", [
    (["measure", "card"], "kvplan measures on Linux only"),
    (["llama-3.1-8b.json", "--measure"], "kvplan measures on Linux only"),
    (["measure", "llama-3.1-8b.json", "--engine", "vllm", "--watch", "--", "vllm", "serve"], "kvplan measures on Linux only"),
    (["llama-3.1-8b.json", "--gpu", "auto"], "kvplan finds GPUs on Linux only"),
])
def test_what_a_browser_cannot(open_page, words, says):
    reply = from_page(open_page, *words)
    assert says in reply["err"] and reply["exit"] > 1 and reply["out"] == ""


def test_first_answer(page, address):
    times = []
    for _ in range(3):  # the machine may be busy
        page.goto("about:blank")
        began = time.monotonic()
        page.goto(address)
        answered(page)
        times.append((time.monotonic() - began, page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000))
    seconds, paint = min(times)
    print(f"first paint {paint:.2f} s, first answer {seconds:.2f} s")
    assert paint < LONGEST and seconds < LONGEST, times
    expect(page.get_by_role("tab", name="What can I run?")).to_have_attribute("aria-selected", "true")
    first = json.loads(native(*page.locator("#command").input_value().split()[1:], "--json")["out"])["picks"][0]
    expect(page.locator("#answer tbody tr").first).to_contain_text(first["model"])
    assert all(url.startswith((address, "blob:")) for url in page.asked), page.asked


def test_fields_and_command_are_one(page, address):
    page.goto(address + EXAMPLE)
    answered(page)
    page.get_by_label("Engine", exact=True).select_option("sglang")
    expect(page.locator("#command")).to_have_value("kvplan llama-3.1-8b.json --engine sglang --gpu rtx-4090 --max-model-len 16k")
    page.get_by_label("GPU", exact=True).fill("h100-80gb")
    page.get_by_label("GPU", exact=True).press("Enter")
    page.get_by_label("Sequences", exact=True).fill("64")
    page.get_by_label("Sequences", exact=True).press("Enter")
    expect(page.locator("#command")).to_have_value("kvplan llama-3.1-8b.json --engine sglang --gpu h100-80gb --max-model-len 16k --num-seqs 64")
    asks(page, "kvplan qwen3-0.6b.json -c 4k --engine vllm@0.20 -q fp8 --enforce-eager")
    assert page.locator("#model").input_value() == "qwen3-0.6b.json"
    assert page.locator("#context").input_value() == "4k"
    assert page.locator("#engine").input_value() == "vllm@0.20"
    assert page.locator("#weights").input_value() == "fp8"
    page.get_by_label("Context, tokens").fill("8k")
    page.get_by_label("Context, tokens").press("Enter")
    expect(page.locator("#command")).to_have_value("kvplan qwen3-0.6b.json -c 8k --engine vllm@0.20 -q fp8 --enforce-eager")


def test_questions_and_remedies(page, address):
    page.goto(address + EXAMPLE)
    answered(page)
    for tab, says in (("What fits", "max context"), ("Compare types", "weights"), ("Explain", "recognised as")):
        page.get_by_role("tab", name=tab).click()
        expect(page.locator("#answer")).to_contain_text(says)
    page.get_by_role("tab", name="Plan", exact=True).click()
    asks(page, "kvplan mixtral-8x7b.json --engine vllm --gpu l40s --max-model-len 8k")
    assert verdict(page).startswith("DOES NOT FIT")
    page.get_by_role("button", name="--weights int4").click()
    expect(page.locator("#answer .verdict").first).to_contain_text("FITS")
    assert "--weights int4" in page.locator("#command").input_value()
    page.locator("#form-of-answer").select_option("json")
    expect(page.locator("#answer pre")).to_contain_text('"schema_version"')
    assert json.loads(page.locator("#answer pre").inner_text())["verdict"]["status"] == "fits"


def test_pasted_config_travels_in_the_link(page, browser, address):
    page.goto(address + EXAMPLE)
    answered(page)
    with open(os.path.join(CONFIGS, "llama-3.1-8b.json"), encoding="utf-8") as file:
        config = {**json.load(file), "num_hidden_layers": 26}  # nobody's model
    page.get_by_role("button", name="Paste").click()
    page.get_by_label("config.json").fill(json.dumps(config, indent=2))
    expect(page.locator("#answer h1")).to_have_text("config")
    page.locator("#gpu").fill("h200-141gb")
    page.locator("#gpu").press("Enter")
    expect(page.locator("#answer")).to_contain_text("h200")
    expect(page).to_have_url(re.compile("h200.*&f="))
    before, link = page.locator("#answer").inner_text(), page.url
    other = browser.new_context().new_page()
    other.goto(link)
    answered(other)
    assert other.locator("#answer").inner_text().split("config.json came with the link")[0].strip() == before
    assert json.loads(other.locator("#pasted").input_value()) == config
    assert len(link) < 4000


@pytest.mark.parametrize("line", [
    "kvplan deepseek-v3.json --engine vllm --gpu h200 --gpu-count 8 --max-model-len 32k --num-seqs 16",
    "kvplan fit gpt-oss-20b.json --engine llama.cpp --gpu rtx-3060",
    "kvplan explain t5-large.json --format markdown",
])
def test_links_hold_the_question(page, browser, address, line):
    page.goto(address)
    answered(page)
    asks(page, line)
    other = browser.new_context().new_page()
    other.goto(page.url)
    answered(other)
    assert other.locator("#command").input_value() == line
    assert other.locator("#answer").inner_text() == page.locator("#answer").inner_text()
    # A damaged end tag ends nothing.
    other.goto("about:blank")
    other.goto(page.url + "&f=broken")
    answered(other)
    assert page.locator("#answer").inner_text().strip() in other.locator("#answer").inner_text()
    expect(other.locator("#answer")).to_contain_text("The end of this link is missing")


def test_a_gguf_of_which_the_header_is_read(page, address, tmp_path):
    import gguf
    path = str(tmp_path / "model.gguf")
    gguf.write(path, 32000)
    os.truncate(path, max(os.path.getsize(path), 5 * 2**30))  # a hole, as large as weights
    page.goto(address + EXAMPLE)
    answered(page)
    page.locator("#files").set_input_files(path)
    expect(page.locator("#answer h1")).to_have_text("model")
    expect(page.locator("#command")).to_have_value("kvplan model.gguf --gpu rtx-4090 --max-model-len 16k")
    expect(page.locator("#answer")).to_contain_text("llama.cpp")
    expect(page.locator("#answer")).to_contain_text("does not hold model.gguf")
    words = ["model.gguf", "--gpu", "rtx-4090", "--max-model-len", "16k", "--json"]
    assert from_page(page, *words) == native(*words, folder=str(tmp_path))


def test_a_folder_of_files(page, address, tmp_path):
    (tmp_path / "model").mkdir()
    with open(os.path.join(CONFIGS, "llama-3.1-8b.json"), encoding="utf-8") as file:
        (tmp_path / "model" / "config.json").write_text(file.read())
    quantized = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    (tmp_path / "model" / "hf_quant_config.json").write_text(json.dumps(quantized))
    page.goto(address)
    answered(page)
    page.locator("#files").set_input_files([str(tmp_path / "model" / name) for name in ("config.json", "hf_quant_config.json")])
    expect(page.locator("#answer h1")).to_have_text("model")
    words = ["model", "--engine", "vllm", "--json"]
    reply = from_page(page, *words)
    assert reply == native(*words, folder=str(tmp_path)) and '"fp8' in reply["out"]


def test_the_hub(page, address):
    """Simulates the Hub's answers; all other requests are blocked."""
    with open(os.path.join(CONFIGS, "llama-3.1-8b.json"), encoding="utf-8") as file:
        config = file.read()
    asked, tokens = [], set()

    def hub(route):
        url = route.request.url
        asked.append(url)
        tokens.add(route.request.headers.get("authorization"))
        headers = {"access-control-allow-origin": "*", "access-control-expose-headers": "*", "x-repo-commit": "0" * 40}
        if url.endswith("/config.json"):
            route.fulfill(status=200, body=config, headers=headers)
        else:
            route.fulfill(status=404, body="", headers={**headers, "x-error-code": "EntryNotFound"})

    page.context.route("https://huggingface.co/**", hub)
    page.goto(address + EXAMPLE)
    answered(page)
    page.locator("#model").fill("org/model-8b")
    page.locator("#model").press("Enter")
    expect(page.locator("#answer h1")).to_contain_text("model-8b")
    assert verdict(page).startswith("FITS")
    assert asked[0] == "https://huggingface.co/org/model-8b/resolve/main/config.json"
    assert tokens == {None}
    asks(page, "kvplan org/gated-8b --token hf_secret --engine vllm")
    assert "Bearer hf_secret" in tokens and "hf_secret" not in page.url
    page.context.unroute("https://huggingface.co/**")
    page.context.route("https://huggingface.co/**", lambda route: route.abort())
    asks(page, "kvplan org/another --engine vllm")
    assert "could not reach the Hub" in verdict(page) and "paste the model's config.json" in verdict(page)
    assert all(url.startswith((address, "blob:", "https://huggingface.co/")) for url in page.asked), page.asked
    page.complaints[:] = [line for line in page.complaints if "Failed to load resource" not in line]  # of the played Hub


def test_nothing_else_may_be_asked(page, address):
    page.goto(address)
    answered(page)
    refused = page.evaluate("fetch('https://example.org/').then(() => false, () => true)")
    assert refused
    assert any("Content Security Policy" in line for line in page.complaints)
    page.complaints.clear()


def test_offline(browser):
    server = Server()
    page = browser.new_context().new_page()
    page.goto(server.address)
    answered(page)
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    server.stop()
    page.goto("about:blank")
    page.goto(server.address + "#q=kvplan+gpt-oss-20b.json+--engine+vllm+--gpu+l40s")
    answered(page)
    assert verdict(page).startswith("FITS")
    page.goto(server.address + "models.html")
    assert "gpt-oss-20b" in page.content()


def test_as_a_file_alone(page, tmp_path):
    with open(os.path.join(PAGE, "index.html"), encoding="utf-8") as file:
        (tmp_path / "kvplan.html").write_text(file.read(), encoding="utf-8")
    page.goto((tmp_path / "kvplan.html").as_uri() + EXAMPLE)
    answered(page)
    assert verdict(page).startswith("FITS")


def test_by_keyboard_and_by_ear(page, address):
    page.goto(address + EXAMPLE)
    answered(page)
    nameless = page.evaluate("""[...document.querySelectorAll("input, select, textarea, button, a, [role=tab]")]
        .filter((e) => !e.hidden && !(e.labels?.length || e.getAttribute("aria-label") || e.textContent.trim())).map((e) => e.outerHTML)""")
    assert nameless == []
    reached = []
    for _ in range(16):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
    for name in ("model", "choose", "paste", "engine", "gpu", "context", "command", "Plan"):
        assert name in reached, reached
    page.get_by_role("tab", name="Plan", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="What fits")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#answer")).to_contain_text("max context")
    expect(page.locator("#aloud")).to_contain_text("FITS")


def test_table(page, address):
    page.goto(address + "models.html")
    heads = page.locator("thead th").all_inner_texts()
    assert len(heads) == 12 and page.locator("tbody tr").count() > 20
    shown = lambda row, column: row.locator("td").nth(column).locator("a:visible").all_inner_texts()  # noqa: E731
    # A GPU with less than 24 GB is planned with 4-bit weights, a larger one with the published weights.
    row = page.locator("tbody tr", has_text="Qwen3-8B").first
    small, large = 1, next(at for at, text in enumerate(heads) if text.startswith("h100-80gb"))
    assert heads[small].startswith("rtx-3060")
    for column, type_ in ((small, "q4"), (large, "own")):
        visible = row.locator("td").nth(column).locator("a:visible")
        assert visible.count() == 1 and f"of-{type_}" in visible.get_attribute("class")
    page.get_by_label("8-bit", exact=True).check()
    assert page.locator("tbody a:visible").count() == page.locator("tbody a.of-fp8").count()
    page.get_by_label("4-bit", exact=True).check()
    assert page.locator("tbody a:visible").count() == page.locator("tbody a.of-q4").count()
    # The row of a model that is partly in main memory says so.
    assert page.locator("tbody a", has_text="GiB in RAM").count() > 3
    unplanned = page.locator("tbody a", has_text=re.compile("^-$")).evaluate_all("all => all.map((one) => one.title)")
    assert len(unplanned) < 20 and not any("seconds" in title for title in unplanned), unplanned
    (figure,) = shown(row, small)
    row.locator("td").nth(small).locator("a:visible").click()
    answered(page)
    line = page.locator("#command").input_value()
    assert "--weights q4_k_m --gpu rtx-3060 --max-model-len 8192 --offline" in line
    plan = json.loads(native(*line.split()[1:], "--json")["out"])
    assert figure == f"{plan['capacity']['max_model_len'] // 1024}k"


def test_what_can_i_run(page, address):
    page.goto(address + EXAMPLE)
    answered(page)
    page.get_by_role("tab", name="What can I run?").click()
    expect(page.locator("#command")).to_have_value("kvplan pick --engine vllm --gpu rtx-4090 --max-model-len 16k")
    asks(page, "kvplan pick --gpu rtx-3060 --host-memory 32GiB")
    told = from_page(page, "pick", "--gpu", "rtx-3060", "--host-memory", "32GiB", "--json")
    assert told["out"] == native("pick", "--gpu", "rtx-3060", "--host-memory", "32GiB", "--json")["out"]
    for row in json.loads(told["out"])["picks"][:3]:
        expect(page.locator("#answer")).to_contain_text(row["model"])
    # A click on a model plans it with its row's settings.
    row = json.loads(told["out"])["picks"][0]
    page.get_by_role("button", name=row["model"], exact=True).click()
    expect(page.locator("#command")).to_have_value(f"kvplan {row['model']} --gpu rtx-3060 --host-memory 32GiB --engine llama.cpp --weights {row['weights_dtype']}")
    page.get_by_role("tab", name="What can I run?").click()
    # The model is still set for the other commands.
    page.get_by_role("tab", name="Plan", exact=True).click()
    expect(page.locator("#command")).to_have_value(re.compile(f"^kvplan {re.escape(row['model'])} .*--gpu rtx-3060"))
    # A model from anywhere is planned: an example, a name, a row of another task.
    asks(page, "kvplan pick --gpu rtx-3060 --task code --all")
    page.locator("#examples").select_option("llama-3.1-8b.json")
    expect(page.locator("#command")).to_have_value("kvplan llama-3.1-8b.json --gpu rtx-3060")
    asks(page, "kvplan pick --gpu rtx-3060 --task code")
    page.locator("#model").fill("Qwen3-8B")
    page.locator("#model").press("Enter")
    expect(page.locator("#command")).to_have_value("kvplan Qwen3-8B --gpu rtx-3060")
    asks(page, "kvplan pick --gpu rtx-3060 --task code --all")
    page.locator("#answer td[data-name=model] button").first.click()
    expect(page.locator("#command")).to_have_value(re.compile("^kvplan [^ ]+ --gpu rtx-3060 --engine llama.cpp --weights [^ ]+$"))
    answered(page)
    assert "pick" not in page.locator("#answer").inner_text()


def test_names_and_cards_are_searched(page, address):
    page.goto(address)
    answered(page)
    names = page.locator("#models option").evaluate_all("all => all.map((one) => one.value)")
    assert "Qwen/Qwen3-8B" in names and len(names) == len(json.loads(native("models", "--json")["out"])["models"])
    cards = page.locator("#gpus option").evaluate_all("all => all.map((one) => one.value)")
    assert len(cards) == len(json.loads(native("gpus", "--json")["out"])["gpus"])
    page.locator("#gpu").fill("h100-80gb")  # as it is chosen from the list, without a key
    expect(page.locator("#command")).to_have_value(re.compile("--gpu h100-80gb"))
    asks(page, "kvplan Qwen/Qwen3-8B --offline --engine vllm --gpu l4 --max-model-len 8k")
    assert verdict(page).startswith("FITS")


def test_users_of_what_fits(page, address):
    page.goto(address + EXAMPLE)
    answered(page)
    expect(page.locator("#users")).to_be_hidden()
    page.get_by_role("tab", name="What fits").click()
    page.get_by_label("Users at once").fill("100")
    page.get_by_label("Users at once").press("Enter")
    page.get_by_label("Average length").fill("4k")
    page.get_by_label("Average length").press("Enter")
    expect(page.locator("#command")).to_have_value(re.compile("^kvplan fit .* --users 100 --avg-len 4k$"))
    expect(page.locator("#answer")).to_contain_text("100 users")


def test_a_pasted_command_is_planned(page, browser, address):
    page.goto(address + EXAMPLE)
    answered(page)
    page.get_by_role("button", name="Paste").click()
    page.locator("#pasted").fill("vllm serve Qwen/Qwen3-8B \\\n  --max-model-len 8192 --kv-cache-dtype fp8")
    expect(page.locator("#command")).to_have_value("kvplan --gpu rtx-4090 --command command.txt")
    asks(page, "kvplan --gpu rtx-4090 --offline --command command.txt")
    expect(page.locator("#answer h1")).to_have_text("Qwen3-8B")
    expect(page.locator("#answer")).to_contain_text("fp8")
    other = browser.new_context().new_page()
    other.goto(page.url)
    answered(other)
    expect(other.locator("#answer h1")).to_have_text("Qwen3-8B")
    # If the field names a model, that model is planned.
    page.locator("#model").fill("qwen3-0.6b.json")
    page.locator("#model").press("Enter")
    expect(page.locator("#command")).to_have_value("kvplan qwen3-0.6b.json --gpu rtx-4090 --offline")


def test_a_pasted_log_is_read(page, address, tmp_path):
    text = """INFO 11-20 10:00:00 [api_server.py:1896] vLLM API server version 0.11.0
INFO 11-20 10:00:02 [model.py:547] Resolved architecture: LlamaForCausalLM
INFO 11-20 10:00:40 [gpu_model_runner.py:2653] Model loading took 14.9889 GiB and 4.1 seconds
ERROR 11-20 10:00:50 [core.py:708] EngineCore failed to start.
ERROR 11-20 10:00:50 [core.py:708] ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (4.89 GiB). Based on the available memory, the estimated maximum model length is 40080. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
RuntimeError: Engine core initialization failed. See root cause above.
"""
    (tmp_path / "start.log").write_text(text)
    page.goto(address)
    answered(page)
    page.get_by_role("button", name="Paste").click()
    page.locator("#pasted").fill(text)
    expect(page.locator("#command")).to_have_value("kvplan check-log start.log")
    told = from_page(page, "check-log", "start.log", "--json")
    assert told == native("check-log", "start.log", "--json", folder=str(tmp_path)) and told["exit"] == 1
    assert "DID NOT START" in verdict(page)


def test_a_link_to_the_page_has_a_title():
    for name in ("index.html", "models.html"):
        with open(os.path.join(PAGE, name), encoding="utf-8") as file:
            text = file.read()
        assert text.count('<meta property="og:title"') == text.count('<meta property="og:description"') == 1 and "@SHARED@" not in text


@pytest.mark.parametrize("width,height", [(1280, 900), (390, 844)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshots(browser, address, width, height, scheme):
    os.makedirs(SHOTS, exist_ok=True)
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    for name, line in (("pick", ""), ("fits", EXAMPLE[3:].replace("+", " ")), ("misfit", "kvplan mixtral-8x7b.json --engine vllm --gpu l40s --max-model-len 8k"),
                       ("fit", "kvplan fit llama-3.1-8b.json --engine vllm --gpu l40s"),
                       ("compare", "kvplan compare llama-3.1-8b.json --engine vllm --gpu rtx-4090 --max-model-len 16k"),
                       ("explain", "kvplan explain deepseek-v3.json --engine vllm --gpu h200 --gpu-count 8 --max-model-len 16k"),
                       ("error", "kvplan llama-3.1-8b.json --gpu rtx-4999"),
                       ("text", "kvplan llama-3.1-8b.json --engine vllm --gpu l40s --format table")):
        page.goto("about:blank")
        page.goto(address + ("#q=" + line.replace(" ", "+") if line else ""))
        answered(page)
        page.screenshot(path=os.path.join(SHOTS, f"{name}-{width}-{scheme}.png"), full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than the screen"
        if name == "pick" and width > height:
            page.screenshot(path=os.path.join(SHOTS, f"preview-{scheme}.png"))  # for links to the page
    page.goto(address + "models.html")
    page.screenshot(path=os.path.join(SHOTS, f"models-{width}-{scheme}.png"))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()
