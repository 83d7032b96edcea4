"""kvplan-mcp [--root FOLDER]: a server of the Model Context Protocol over standard input and output.

Needs the protocol's library: pip install 'kvplan[mcp]'. Its tools are plan, fit, compare, explain and check_log. An answer comes
as text, the program's table, and as structured content, its JSON, whose schema the tool names.

A client names a model of the Hugging Face Hub (org/name) or sends a config.json as an object. It may name files only below the
folders that --root gives (several are possible, by default none): a link out of them, "..", a list of models and the stores of
other tools are refused, and no error quotes a file. SECURITY.md has the rest.

Start it as kvplan-mcp. "python -m kvplan.mcp" works too, but Python then looks for modules in the current folder first.
"""

import argparse
import logging
import os
import re
import sys
import tempfile
import threading
import time
from typing import Any, BinaryIO, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

from kvplan import __version__
from kvplan._program import Answer, Bounds, KvplanError, TooLarge, answer, ask
from kvplan import schema as answers_schema

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

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 1}
_SIZE = {"type": ["string", "integer"]}

# The options that a question is asked with. Those that write files, read other files or touch a device are none of them.
_OPTIONS: Dict[str, Tuple[Mapping[str, Any], str]] = {
    "engine": (_TEXT, "vllm, sglang, llama.cpp, ollama, transformers, mlx, mistralrs or tensorrt-llm, with a release as "
                      "vllm@0.20; without one, what the architecture needs"),
    "gpu": (_TEXT, "a card, h100-80gb or 2x4090; several with commas; auto for those of this machine"),
    "gpu_memory": (_SIZE, "the memory of a card instead of its name: 24GiB, or bytes"),
    "gpu_count": (_COUNT, "cards; without a parallel size the layout that fits best is planned"),
    "gpu_memory_utilization": ({"type": "number"}, "the share of the card that the engine may use, as 0.9"),
    "kv_cache_memory_bytes": (_SIZE, "the KV budget itself, per GPU"),
    "max_model_len": (_SIZE, "tokens of a sequence, 32768 or 32k (k is 1024); auto for the most that fit"),
    "num_seqs": (_COUNT, "live sequences, each at full length"),
    "avg_len": (_SIZE, "what the sequences really hold, in tokens"),
    "weights": (_TEXT, "weight type: bf16, fp8, q4_k_m ...; as the checkpoint declares where not given"),
    "kv_cache_dtype": (_TEXT, "KV type: auto, bf16, fp8, q8_0 ..."),
    "tensor_parallel_size": (_COUNT, "tensor parallel ranks"),
    "pipeline_parallel_size": (_COUNT, "pipeline stages"),
    "data_parallel_size": (_COUNT, "data parallel copies"),
    "enable_expert_parallel": ({"const": True}, "whole experts are distributed over the ranks"),
    "max_num_batched_tokens": (_COUNT, "tokens of a prefill chunk"),
    "max_num_seqs": (_COUNT, "the scheduler's limit"),
    "enforce_eager": ({"const": True}, "vLLM without CUDA graphs"),
    "n_gpu_layers": (_SIZE, "llama.cpp: layers on the GPU"),
    "num_speculative_tokens": (_COUNT, "draft tokens of a step"),
    "draft": (_TEXT, "a draft model, named as model is"),
    "assume": ({"const": True}, "plan an unknown architecture from its plain fields"),
    "offline": ({"const": True}, "the caches alone, no network"),
}
_MODEL = {
    "type": ["string", "object"],
    "description": "org/name[:quantization][@revision] of the Hugging Face Hub, a config.json itself as an object, or, where the "
                   "server was started with --root, the path of a config.json, a model's folder or a *.gguf below that folder "
                   "(./org/name for a folder of that name)",
}
_LOG = {"log": dict(_TEXT, description="the path of a start-up log, below the server's --root"), "text": dict(_TEXT, description="the log itself")}


class Question(NamedTuple):
    """A tool: the program's command, what it says, and the names of its answers in the program's schema."""

    name: str
    says: str
    answers: Tuple[str, ...]
    needs: Tuple[str, ...] = ("model",)

    @property
    def command(self) -> str:
        return self.name.replace("_", "-")

    def input_schema(self) -> Dict[str, Any]:
        options = {name: dict(kind, description=says) for name, (kind, says) in _OPTIONS.items()}
        first = {"model": _MODEL, **(_LOG if self.name == "check_log" else {})}
        return {"type": "object", "properties": {**first, **options}, "required": list(self.needs), "additionalProperties": False}

    def output_schema(self, whole: Answer) -> Dict[str, Any]:
        forms = [{"$ref": f"#/$defs/{name}"} for name in self.answers]
        return {"$schema": whole["$schema"], "type": "object", **(forms[0] if len(forms) == 1 else {"oneOf": forms}),
                "$defs": _reached(self.answers, whole["$defs"])}


QUESTIONS = (
    Question("plan", "The GPU memory that a model takes in an engine: weights, KV cache, activations, runtime; whether it fits "
                     "a card, and how many tokens and sequences do.", ("plan", "fleet", "grid")),
    Question("fit", "What fits a card: the longest context, the most sequences, the fewest GPUs, layouts.", ("answers", "fits")),
    Question("compare", "Weight types and KV types side by side.", ("answers",)),
    Question("explain", "Every layer and formula of a plan with its numbers put in, and where each number came from.", ("plan",)),
    Question("check_log", "Why an engine did not start, with remedies, from its log; with a model, its start against the plan.",
             ("check_log",), needs=()),
)


def _reached(names: Tuple[str, ...], definitions: Mapping[str, Any]) -> Dict[str, Any]:
    """The definitions that these refer to, themselves included."""
    out: Dict[str, Any] = {}

    def visit(value: Any) -> None:
        if isinstance(value, dict):
            name = str(value.get("$ref", "")).rpartition("/")[2]
            if name and name not in out:
                out[name] = definitions[name]
                visit(definitions[name])
            for inner in value.values():
                visit(inner)
        elif isinstance(value, list):
            for inner in value:
                visit(inner)

    visit([{"$ref": f"#/$defs/{name}"} for name in names])
    return out


def _tools() -> List[types.Tool]:
    whole = answers_schema()
    reads = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True)
    return [types.Tool(name=question.name, description=question.says, input_schema=question.input_schema(),
                       output_schema=question.output_schema(whole), annotations=reads) for question in QUESTIONS]


def _failed(line: str) -> types.CallToolResult:
    """An error; what it quotes of the question may be of any length and any letters."""
    short = line if len(line) <= 1000 else line[:480] + " ... " + line[-480:]
    plain = "".join(letter if letter.isprintable() else "?" for letter in short)
    return types.CallToolResult(content=[types.TextContent(type="text", text=plain)], is_error=True)


# --- what a client may name ---

_HUB = re.compile(r"[A-Za-z0-9_][\w.-]*/[\w.-]+(:[\w.-]+)?(@[\w./+-]+)?", re.ASCII)
_FILE = (".json", ".gguf", ".safetensors", ".txt")


def _is_below(path: str, root: str) -> bool:
    """With every link followed."""
    try:
        return os.path.commonpath([os.path.realpath(path), os.path.realpath(root)]) == os.path.realpath(root)
    except ValueError:  # of two drives
        return False


def _check_beside(path: str, root: str) -> None:
    """Refuses a model beside or below which a link leads out of the root: the program reads a checkpoint's other files too."""
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
                raise KvplanError("kvplan: the model's folder holds a pipe, a socket or a device; remove it", 2)


def _below(roots: Tuple[str, ...], name: Optional[str]) -> Optional[str]:
    """The absolute path of a name below a root. What lies outside is refused in the same words as what is not there."""
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


def _named(roots: Tuple[str, ...], model: Optional[Any]) -> Optional[Any]:
    """A model as the program takes it: a config, a name of the Hub, or a path below a root. Never a list or another tool's store."""
    if not isinstance(model, str) or (_HUB.fullmatch(model) and not model.endswith(_FILE)):
        return model
    if model.startswith("@") or model.endswith(".txt"):
        raise KvplanError(f"kvplan: {model}: a list of models is for the command line; name one model", 2)
    path = _below(roots, model)
    assert path is not None
    _check_beside(path, next(root for root in roots if _is_below(path, root)))
    return path


def _without_content(question: "Question", options: Mapping[str, Any], error: KvplanError, bounds: Bounds) -> str:
    """An error of a question about files, which may quote them. What is wrong with the options is said of no file too."""
    try:
        ask(question.command, "none.json", {**options, "draft": None}, bounds=bounds)
    except KvplanError as other:
        if not other.line.startswith("kvplan: none.json:"):
            return other.line
    reason = {2: "it is not a file that kvplan can use here", 3: "kvplan does not know its architecture"}
    return (f"kvplan: {question.name}: {reason.get(error.exit_code, f'kvplan ended with {error.exit_code}')}; ask kvplan in a "
            "terminal for the reason, which may quote the file")


# --- questions ---


def _answer(roots: Tuple[str, ...], name: str, given: Mapping[str, Any], bounds: Bounds) -> types.CallToolResult:
    question = next((one for one in QUESTIONS if one.name == name), None)
    if question is None:
        return _failed(f"kvplan: there is no tool {name!r}; the tools are {', '.join(one.name for one in QUESTIONS)}")
    wrong = next(jsonschema.Draft202012Validator(question.input_schema()).iter_errors(given), None)
    if wrong is not None:
        return _failed(f"kvplan: {'.'.join(map(str, wrong.path)) or name}: {wrong.message}")
    options = dict(given)
    log, text = options.pop("log", None), options.pop("text", None)
    if name == "check_log" and (log is None) == (text is None):
        return _failed("kvplan: check_log: give log, the path of a log, or text, the log itself")
    model, log, draft = _named(roots, options.pop("model", None)), _below(roots, log), _named(roots, options.get("draft"))
    options["draft"] = draft
    bounds.of_files = any(isinstance(one, str) and os.path.isabs(one) for one in (model, log, draft))
    try:
        said = ask(question.command, model, options, log, text, form="table", bounds=bounds)
        data = answer(ask(question.command, model, options, log, text, bounds=bounds))
    except TooLarge:
        raise
    except KvplanError as error:
        if not bounds.of_files:
            raise
        return _failed(_without_content(question, options, error, bounds))
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)], structured_content=data)


def call(roots: Tuple[str, ...], name: str, given: Mapping[str, Any], bounds: Bounds) -> types.CallToolResult:
    """The answer to a tool's question; what is wrong with it, in one line, for the client's model to mend."""
    try:
        with tempfile.TemporaryDirectory() as bounds.folder:  # empty, so that a name of the Hub is no path in it
            return _answer(roots, name, given, bounds)
    except KvplanError as error:
        return _failed(error.line)
    except (OSError, ValueError, RecursionError) as error:  # a NUL, half a surrogate, or more than a command line may have
        return _failed(f"kvplan: {name}: the question cannot be asked ({type(error).__name__}); shorten it")


_PENDING: Set[Bounds] = set()


def _end(code: int) -> None:
    """Ends the process, whatever its threads wait for."""
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
                  instructions="How much GPU memory a model takes, in the engine that runs it, and why. Bytes are integers.")


# --- standard input and output ---


_ID = re.compile(r'"id"\s*:\s*([0-9]{1,15}|"[\w.-]{1,100}")', re.ASCII)


class _Writer:
    """Ends the server where the client has not taken a message in time: otherwise answers would pile up for ever."""

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
    """The client's messages, of a bounded length. None is read while an answer waits to be taken."""

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
            # The library says nothing then, and the client would wait.
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
