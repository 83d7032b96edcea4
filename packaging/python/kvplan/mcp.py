"""kvplan-mcp [--root FOLDER]: a server of the Model Context Protocol over standard input and output.

Needs the protocol's library: pip install 'kvplan[mcp]'. Its tools are plan, fit, compare, explain, diff, pick, check_log, gpus and
models. An answer is text, the program's table. With detail "full" it has the program's JSON as structured content too, whose
schema `kvplan schema` prints.

A client names a model of the Hugging Face Hub (org/name) or of the built-in catalogue, sends a config.json as an object, or an
engine's launch command. It may name files only below the folders that --root gives (several are possible, by default none): a
link out of them, "..", a list of models, the stores of other tools and paths in a command are refused, and no error quotes a
file. SECURITY.md has the rest.

Start it as kvplan-mcp. "python -m kvplan.mcp" works too, but Python then looks for modules in the current folder first.
"""

import argparse
import difflib
import functools
import logging
import os
import re
import shlex
import sys
import tempfile
import threading
import time
from typing import Any, BinaryIO, Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Set, Tuple

from kvplan import __version__
from kvplan import models as catalogue
from kvplan._program import Bounds, KvplanError, TooLarge, answer, ask

try:
    import anyio
    import anyio.to_thread
    import jsonschema
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
except ImportError as missing:
    sys.exit(f"kvplan: the MCP server: {missing.name} is not installed; pip install 'kvplan[mcp]' (Python 3.10 or newer)")

MOST_ANSWER = 4 << 20  # bytes: a client's model can read no more, and thousands of cards would fill its memory
MOST_MESSAGE = 24 << 20  # bytes of a client's message; the program reads configs of 16 MiB
LARGE_MESSAGE = 1 << 20  # bytes; after one of them nothing is read while questions are open, since they fill the memory
MOST_PENDING = 16  # questions that wait or run; one more is refused at once
MOST_RUNNING = 4
MOST_ENTRIES = 10_000  # of a model's folder
SECONDS = 60.0  # for a question, its wait included, and for a client to read an answer

MOST_COMMAND = 64 << 10  # letters of a launch command

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 1}
_SIZE = {"type": ["string", "integer"]}
_TRUE = {"const": True}

# The options that a client may use: none that writes files, reads other files or uses a device.
_INPUTS: Dict[str, Tuple[Mapping[str, Any], str]] = {
    "model": ({"type": ["string", "object"]},
              "org/name[:quantization][@revision] of the Hugging Face Hub, a name from the tool models, a config.json as an object, or a path below "
              "the server's --root"),
    "old": ({"type": ["string", "object"]}, "a model, or a saved plan as an object"),
    "new": ({"type": ["string", "object"]}, "the same, planned with the same options"),
    "command": (_TEXT, "an engine's launch command instead of the model: vllm serve org/name -tp 2. No paths"),
    "log": (_TEXT, "path of a start-up log below --root"),
    "text": (_TEXT, "the log itself"),
    "names": (_TEXT, "words to search for, such as h100 or qwen3"),
    "engine": (_TEXT, "vllm, sglang, llama.cpp, ollama, transformers, mlx, mistralrs or tensorrt-llm, or a release, vllm@0.20; default: the "
                      "architecture's minimum"),
    "gpu": (_TEXT, "a name from the tool gpus, 2x4090, several with commas, or auto for those of this machine"),
    "gpu_memory": (_SIZE, "a GPU's memory instead of its name: 24GiB"),
    "gpu_count": (_COUNT, "without a parallel size the best layout is planned"),
    "gpu_memory_utilization": ({"type": "number"}, "as 0.9"),
    "kv_cache_memory_bytes": (_SIZE, "KV budget per GPU"),
    "host_memory": (_SIZE, "main memory for weights that do not fit the GPU: 32GiB"),
    "max_model_len": (_SIZE, "tokens per sequence, 32k; auto: the longest that fits"),
    "num_seqs": (_COUNT, "sequences at once, each at full length"),
    "avg_len": (_SIZE, "average tokens per sequence"),
    "users": (_COUNT, "users at once"),
    "task": ({"enum": ["chat", "code", "vision", "embedding", "reranking", "speech"]}, "default chat"),
    "all": (_TRUE, "older generations too"),
    "weights": (_TEXT, "bf16, fp8, q4_k_m ...; default: the checkpoint's"),
    "kv_cache_dtype": (_TEXT, "auto, bf16, fp8, q8_0 ..."),
    "tensor_parallel_size": (_COUNT, ""),
    "pipeline_parallel_size": (_COUNT, ""),
    "data_parallel_size": (_COUNT, ""),
    "enable_expert_parallel": (_TRUE, ""),
    "max_num_batched_tokens": (_COUNT, "tokens per prefill chunk"),
    "max_num_seqs": (_COUNT, "the scheduler's limit"),
    "enforce_eager": (_TRUE, "no CUDA graphs"),
    "n_gpu_layers": (_SIZE, "llama.cpp: layers on the GPU"),
    "num_speculative_tokens": (_COUNT, "draft tokens per step"),
    "draft": (_TEXT, "a draft model, named like model"),
    "assume": (_TRUE, "plan an unknown architecture from its common fields"),
    "offline": (_TRUE, "only the caches, no network"),
    "detail": ({"enum": ["brief", "full"]}, "brief (default): a table; full: the whole JSON as well"),
}
_OF_PLAN = tuple(name for name in list(_INPUTS)[list(_INPUTS).index("engine"):] if name not in ("host_memory", "users", "task", "all"))
_ASKED = ("model", "command", *_OF_PLAN)


class Question(NamedTuple):
    """A tool: the program's command, its description, and its arguments."""

    name: str
    says: str
    takes: Tuple[str, ...]
    needs: Tuple[str, ...] = ()

    @property
    def command(self) -> str:
        return self.name.replace("_", "-")

    def input_schema(self) -> Dict[str, Any]:
        """Leaves out the options that the tool `plan` describes."""
        described = [name for name in self.takes if _INPUTS[name][1] and (self.name == "plan" or name not in _ASKED)]
        inputs = {name: {**_INPUTS[name][0], **({"description": _INPUTS[name][1]} if name in described else {})} for name in self.takes}
        return {"type": "object", "properties": inputs, "required": list(self.needs), "additionalProperties": False}


QUESTIONS = (
    Question("plan", "GPU memory of a model in an engine: weights, KV cache, activations, runtime; whether it fits a GPU, and how many tokens "
                     "and sequences do.", _ASKED),
    Question("fit", "What fits a GPU: longest context, most sequences, fewest GPUs, layouts; with users, the GPUs for them. "
                    "Inputs as in plan.", (*_ASKED, "users")),
    Question("compare", "Weight types and KV types side by side. Inputs as in plan.", _ASKED),
    Question("explain", "Every layer and formula of a plan with its numbers, and where each came from. Inputs as in plan.", _ASKED),
    Question("diff", "What changed between two models or plans. Options as in plan.", ("old", "new", *_OF_PLAN), ("old", "new")),
    Question("pick", "Models of the catalogue that run on a GPU, best first, with the command that starts each.",
             ("gpu", "gpu_memory", "gpu_count", "host_memory", "engine", "task", "max_model_len", "users", "all", "detail")),
    Question("check_log", "Why an engine did not start, with remedies, from its log; with a model, its start against the plan. Options as in plan.",
             ("log", "text", "model", *_OF_PLAN)),
    Question("gpus", "Names and memory of GPUs.", ("names", "detail")),
    Question("models", "Models that are known by name without a network.", ("names", "detail")),
)


def _tools() -> List[types.Tool]:
    reads = types.ToolAnnotations(read_only_hint=True)
    return [types.Tool(name=question.name, description=question.says, input_schema=question.input_schema(), annotations=reads)
            for question in QUESTIONS]


def _failed(line: str) -> types.CallToolResult:
    """An error message. Its quotes from the request may have any length and any characters."""
    short = line if len(line) <= 1000 else line[:480] + " ... " + line[-480:]
    plain = "".join(letter if letter.isprintable() else "?" for letter in short)
    return types.CallToolResult(content=[types.TextContent(type="text", text=plain)], is_error=True)


# --- what a client may name ---

_HUB = re.compile(r"[A-Za-z0-9_][\w.-]*/[\w.-]+(:[\w.-]+)?(@[\w./+-]+)?", re.ASCII)
_FILE = (".json", ".gguf", ".safetensors", ".txt")


def _is_below(path: str, root: str) -> bool:
    """The path with all links resolved."""
    try:
        return os.path.commonpath([os.path.realpath(path), os.path.realpath(root)]) == os.path.realpath(root)
    except ValueError:  # of two drives
        return False


def _check_beside(path: str, root: str) -> None:
    """Refuses a model if a link beside it or below it leads out of the root, because the program also reads a checkpoint's other files."""
    folders, count = [path if os.path.isdir(path) else os.path.dirname(path)], 0
    seen: Set[str] = set()
    while folders:
        folder = os.path.realpath(folders.pop())
        if folder in seen:
            continue
        seen.add(folder)
        for entry in os.scandir(folder):
            count += 1
            if count > MOST_ENTRIES:
                raise KvplanError(f"kvplan: the folder has more than {MOST_ENTRIES} entries; name a model's own folder", 2)
            if (entry.is_symlink() or entry.is_dir()) and not _is_below(entry.path, root):
                raise KvplanError("kvplan: a link in the model's folder leads out of the server's root; copy the file into it", 2)
            if entry.is_dir():
                if os.path.isdir(path):
                    folders.append(entry.path)
            elif not entry.is_file() and os.path.exists(entry.path):
                raise KvplanError("kvplan: the model's folder has a pipe, a socket or a device; remove it", 2)


def _below(roots: Tuple[str, ...], name: Optional[str]) -> Optional[str]:
    """The absolute path of a name below a root. A path outside and a missing path give the same error."""
    if name is None:
        return None
    if not roots:
        raise KvplanError(f"kvplan: {name}: this server reads no files; name a model of the Hub (org/name), send the config or the "
                          "log itself, or start the server with --root FOLDER", 2)
    plain = not name.startswith(("//", "\\\\")) and ".." not in re.split(r"[/\\]", name)  # \\host is another machine
    for path, root in ((os.path.join(root, name), root) for root in roots if plain):
        if _is_below(path, root) and (os.path.isfile(path) or os.path.isdir(path)):
            return path
    raise KvplanError(f"kvplan: {name}: no file or folder below the server's root, and no name of the Hub (org/name)", 2)


@functools.lru_cache(maxsize=None)
def _known() -> FrozenSet[str]:
    """The names of the built-in catalogue, in lower case."""
    rows = catalogue()["models"]
    return frozenset(name.lower() for row in rows for name in (row["id"], row["id"].rpartition("/")[2], row["ollama_tag"]) if name)


def _folded(name: str) -> str:
    return re.sub(r"[-_ ]", "", name.lower())


def _meant(name: str) -> str:
    """The catalogue's name that differs only in blanks, or "did you mean NAME? "."""
    names = sorted(_known()) if len(name) < 100 else []
    alike = [known for known in names if _folded(known) == _folded(name)]
    near = [known for known in names if _folded(known).startswith(_folded(name))] or difflib.get_close_matches(name.lower(), names)
    return alike[0] if alike else f"did you mean {' or '.join(near[:3])}? " if near and _folded(name) else ""


_PAGE = re.compile(r"(?:(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co|ollama\.com/library)/|hf:)(?=[A-Za-z0-9_])")


def _named(roots: Tuple[str, ...], model: Optional[Any]) -> Optional[Any]:
    """A model for the program: a config, a name of the Hub or the catalogue, or a path below a root. Never a list or another tool's store."""
    if isinstance(model, str):
        model = _PAGE.sub("", model, count=1) if _PAGE.match(model) else model
    if not isinstance(model, str) or model.lower() in _known() or (_HUB.fullmatch(model) and not model.endswith(_FILE)):
        return model
    if model.startswith("@") or model.endswith(".txt"):
        raise KvplanError(f"kvplan: {model}: a list of models is for the command line; name one model", 2)
    meant = _meant(model)
    if meant in _known():
        return meant
    try:
        path = _below(roots, model)
    except KvplanError as error:
        raise KvplanError(f"{error}; {meant}".rstrip("; "), 2) from None
    assert path is not None
    _check_beside(path, next(root for root in roots if _is_below(path, root)))
    return path


_NAME = re.compile(r"(?:https?://(?:huggingface\.co|hf\.co)/)?[A-Za-z0-9_][\w.-]*/[A-Za-z0-9_][\w.-]*(?:@[\w.-]+)?", re.ASCII)


def _words(text: str) -> List[str]:
    """The words of a launch command. None may be a path, a list, a store or another command. No shell reads them."""
    if len(text) > MOST_COMMAND:
        raise KvplanError(f"kvplan: command: longer than {MOST_COMMAND} letters; leave out what is not the engine's command", 2)
    try:
        words = shlex.split(text.replace("\\\n", " "), comments=True)
    except ValueError as error:
        raise KvplanError(f"kvplan: command: {error}", 2) from None
    for word in words:
        is_json = word.startswith(("{", "["))
        wrong = next((sign for sign in "\\$`~;|&<>\n" + ("" if is_json else "'\"") if sign in word), None)
        if wrong is not None:
            raise KvplanError(f"kvplan: command: {word}: {wrong!r} is not read here; write the engine's command itself, without a shell", 2)
        for part in re.split(r"[\s=,:\"'{}\[\]]+", re.sub(r"https?://", "", word)):
            is_path = "/" in part and (not _NAME.fullmatch(part) or part.endswith(_FILE))
            if is_path or part in (".", "..") or part.startswith("@"):
                raise KvplanError(f"kvplan: command: {part} is a path, and this server reads no files of a command; leave it out, or send model, "
                                  "which stands for the one that the command names", 2)
        if re.search(r"\b(lmstudio|llama\.cpp):", word, re.IGNORECASE):
            raise KvplanError(f"kvplan: command: {word}: stores of other tools are not read here; name a model of the Hub", 2)
    if not words:
        raise KvplanError("kvplan: command: it is empty; write one such as vllm serve org/name", 2)
    return words


def _without_content(question: "Question", options: Mapping[str, Any], error: KvplanError, bounds: Bounds) -> str:
    """The error of a request about a file. The program's message may quote the file, so only an error of the options alone is passed on."""
    try:
        ask(question.command, "none.json", {**options, "draft": None}, bounds=bounds)
    except KvplanError as other:
        if not other.line.startswith("kvplan: none.json:"):
            return other.line
    reason = {2: "it is not a file that kvplan can use here", 3: "kvplan does not know its architecture"}
    return (f"kvplan: {question.name}: {reason.get(error.exit_code, f'kvplan ended with {error.exit_code}')}; ask kvplan in a "
            "terminal for the reason, which may quote the file")


# --- questions ---


def _searched(names: str) -> List[str]:
    """The words of a search, none of which is an option or a path."""
    for word in names.split():
        if not re.fullmatch(r"\w[\w.:+-]*", word):
            raise KvplanError(f"kvplan: names: {word}: letters, digits, dots and dashes only", 2)
    return names.split()


def _answer(roots: Tuple[str, ...], name: str, given: Mapping[str, Any], bounds: Bounds) -> types.CallToolResult:
    question = next((one for one in QUESTIONS if one.name == name), None)
    if question is None:
        return _failed(f"kvplan: there is no tool {name!r}; the tools are {', '.join(one.name for one in QUESTIONS)}")
    wrong = next(jsonschema.Draft202012Validator(question.input_schema()).iter_errors(given), None)
    if wrong is not None:
        return _failed(f"kvplan: {'.'.join(map(str, wrong.path)) or name}: {wrong.message}")
    options = dict(given)
    is_full = options.pop("detail", "brief") == "full"
    log, text, command = options.pop("log", None), options.pop("text", None), options.pop("command", None)
    if name == "check_log" and (log is None) == (text is None):
        return _failed("kvplan: check_log: give log, the path of a log, or text, the log itself")
    if "command" in question.takes and command is None and "model" not in options:
        return _failed(f"kvplan: {name}: give model, or command, an engine's launch command")
    words = None if command is None else _words(command)
    models: List[Any] = [_named(roots, options.pop(key)) for key in ("model", "old", "new") if key in options]
    models += _searched(options.pop("names", ""))
    log, draft = _below(roots, log), _named(roots, options.get("draft"))
    options["draft"] = draft
    bounds.of_files = any(isinstance(one, str) and os.path.isabs(one) for one in (*models, log, draft))
    data: Optional[Dict[str, Any]] = None
    try:
        said = ask(question.command, models, options, log, text, form="table", bounds=bounds, launch=words)
        if is_full:
            data = answer(ask(question.command, models, options, log, text, bounds=bounds, launch=words))
    except TooLarge:
        raise
    except KvplanError as error:
        if not bounds.of_files:
            raise
        return _failed(_without_content(question, options, error, bounds))
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)], structured_content=data)


def call(roots: Tuple[str, ...], name: str, given: Mapping[str, Any], bounds: Bounds) -> types.CallToolResult:
    """A tool's answer, or an error in one line that the client's model can correct."""
    try:
        with tempfile.TemporaryDirectory() as bounds.folder:  # empty, so that a name of the Hub is no path in it
            return _answer(roots, name, given, bounds)
    except KvplanError as error:
        return _failed(error.line)
    except (OSError, ValueError, RecursionError) as error:  # a NUL, half a surrogate, or more than a command line may have
        return _failed(f"kvplan: {name}: the request failed ({type(error).__name__}); shorten it")


_PENDING: Set[Bounds] = set()


def _end(code: int) -> None:
    """Ends the process even if threads still wait."""
    for bounds in list(_PENDING):
        bounds.stop()
    time.sleep(0.2)  # for their temporary folders
    os._exit(code)


def server(roots: Tuple[str, ...] = ()) -> "Server[Any]":
    tools = _tools()
    running = anyio.CapacityLimiter(MOST_RUNNING)

    async def list_tools(_: Any, __: Optional[types.PaginatedRequestParams]) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if len(_PENDING) >= MOST_PENDING:
            return _failed(f"kvplan: {MOST_PENDING} questions are still open; ask again when one of them is answered")
        bounds = Bounds(MOST_ANSWER)
        _PENDING.add(bounds)
        try:
            with anyio.move_on_after(SECONDS):
                return await anyio.to_thread.run_sync(call, roots, params.name, params.arguments or {}, bounds,
                                                      abandon_on_cancel=True, limiter=running)
            return _failed(f"kvplan: {params.name}: no answer within {SECONDS:.0f} s; ask about less")
        finally:  # also where the client has cancelled it, or is gone
            _PENDING.discard(bounds)
            bounds.stop()

    return Server("kvplan", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool,
                  instructions="How much GPU memory a model takes, in the engine that runs it, and why. Inputs mean the same in every tool; "
                               "plan describes them.")


# --- standard input and output ---


_ID = re.compile(r'"id"\s*:\s*([0-9]{1,15}|"[\w.-]{1,100}")', re.ASCII)


class _Writer:
    """Ends the server if the client does not take a message in time; otherwise answers would pile up."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._one = anyio.CapacityLimiter(1)
        self.idle = anyio.Lock()

    def _put(self, text: str) -> None:
        timer = threading.Timer(SECONDS, _end, [1])
        timer.daemon = True
        timer.start()
        try:
            self._file.write(text.encode("utf-8", "replace"))
            self._file.flush()
        finally:
            timer.cancel()

    async def write(self, text: str) -> None:
        async with self.idle:
            await anyio.to_thread.run_sync(self._put, text, limiter=self._one)

    async def flush(self) -> None:
        pass


class _Reader:
    """The client's messages, of limited length. Reads none while an answer waits to be taken."""

    def __init__(self, file: BinaryIO, writer: _Writer) -> None:
        self._file = file
        self._writer = writer
        self._one = anyio.CapacityLimiter(1)
        self._was_large = False

    def _get(self) -> Tuple[str, bool]:
        """A line, and whether it is a message."""
        line = part = self._file.readline(MOST_MESSAGE)
        while part and not part.endswith(b"\n"):  # the rest of a longer one
            part = self._file.readline(1 << 20)
        text = line.decode("utf-8", "replace")
        try:
            types.jsonrpc_message_adapter.validate_json(text, by_name=False)
        except ValueError:  # also what is nested too deeply, and half a surrogate
            return text, False
        return text, True

    def __aiter__(self) -> "_Reader":
        return self

    async def __anext__(self) -> str:
        while True:
            while self._was_large:
                await anyio.sleep(0.05)  # the first time for the library to pass the message on
                self._was_large = bool(_PENDING)
            async with self._writer.idle:
                pass
            text, is_message = await anyio.to_thread.run_sync(self._get, limiter=self._one)
            self._was_large = len(text) > LARGE_MESSAGE
            if not text:
                raise StopAsyncIteration
            if is_message:
                return text
            # The protocol's library prints nothing in this case, and the client would wait.
            ids = _ID.findall(text)
            await self._writer.write('{"jsonrpc":"2.0","id":%s,"error":{"code":-32700,"message":"kvplan: not a message that can be read"}}\n'
                                     % (ids[0] if len(ids) == 1 else "null"))


async def _serve(roots: Tuple[str, ...]) -> None:
    serves = server(roots)
    writer = _Writer(sys.stdout.buffer)
    streams: Any = (_Reader(sys.stdin.buffer, writer), writer)
    async with stdio_server(*streams) as (read, write):
        await serves.run(read, write, serves.create_initialization_options())


def main() -> None:
    parser = argparse.ArgumentParser(prog="kvplan-mcp", description="a server of the Model Context Protocol over standard input "
                                     "and output; the client names models of the Hub, or sends configs")
    parser.add_argument("--root", metavar="FOLDER", action="append", default=[],
                        help="a folder below which the client may name files (by default none; may be given several times)")
    roots = tuple(os.path.abspath(root) for root in parser.parse_args().root)
    for root in roots:
        if not os.path.isdir(root):
            parser.error(f"--root {root}: no such folder")
    os.chdir(os.path.abspath(os.sep))  # out of the client's workspace
    logging.disable()  # standard error may be a pipe that nobody reads
    anyio.run(_serve, roots)
    _end(0)  # a thread may still wait for a file system


if __name__ == "__main__":
    main()
