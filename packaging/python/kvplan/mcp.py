"""python -m kvplan.mcp: a server of the Model Context Protocol over standard input and output.

Needs the protocol's library: pip install 'kvplan[mcp]'. Its tools are plan, fit, compare, explain and check_log. An answer comes
as text, the program's table, and as structured content, its JSON, whose schema the tool names.
"""

import sys
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from kvplan import __version__
from kvplan._program import Answer, KvplanError, answer, ask
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

# Of an answer's JSON: a client's model can read no more, and thousands of cards would fill its memory.
MOST_LETTERS = 4 << 20

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
    "draft": (_TEXT, "a draft model"),
    "assume": ({"const": True}, "plan an unknown architecture from its plain fields"),
    "offline": ({"const": True}, "the caches alone, no network"),
}
_MODEL = {
    "type": ["string", "object"],
    "description": "org/name[@revision] of the Hugging Face Hub, the path of a config.json, a folder or a *.gguf, ollama:NAME, "
                   "or a config.json itself as an object",
}
_LOG = {"log": dict(_TEXT, description="the path of a start-up log"), "text": dict(_TEXT, description="the log itself")}


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


def call(name: str, given: Mapping[str, Any]) -> types.CallToolResult:
    """The answer to a tool's question; what is wrong with it, in one line, for the client's model to mend."""
    question = next((one for one in QUESTIONS if one.name == name), None)
    if question is None:
        return _failed(f"kvplan: there is no tool {name!r}; the tools are {', '.join(one.name for one in QUESTIONS)}")
    wrong = next(jsonschema.Draft202012Validator(question.input_schema()).iter_errors(given), None)
    if wrong is not None:
        return _failed(f"kvplan: {'.'.join(map(str, wrong.path)) or name}: {wrong.message}")
    options = dict(given)
    # A list of models is a file of any text, whose lines an error names.
    for key in ("model", "draft"):
        if str(options.get(key, "")).startswith("@"):
            return _failed(f"kvplan: {key}: a list of models (@FILE) is for the command line; name the model")
    model: Optional[Any] = options.pop("model", None)
    log, text = options.pop("log", None), options.pop("text", None)
    if name == "check_log" and (log is None) == (text is None):
        return _failed("kvplan: check_log: give log, the path of a log, or text, the log itself")
    try:
        said = ask(question.command, model, options, log, text, form="table")
        whole = ask(question.command, model, options, log, text)
        if len(whole) > MOST_LETTERS:
            return _failed(f"kvplan: {name}: the answer has {len(whole) >> 20} MiB of JSON; ask of fewer cards or models")
        data = answer(whole)
    except KvplanError as error:
        return _failed(error.line)
    except (OSError, ValueError) as error:  # a NUL, half a surrogate, or more than a command line may have
        return _failed(f"kvplan: {name}: the question cannot be asked ({type(error).__name__}); shorten it")
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)], structured_content=data)


def server() -> "Server[Any]":
    tools = _tools()

    async def list_tools(_: Any, __: Optional[types.PaginatedRequestParams]) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await anyio.to_thread.run_sync(call, params.name, params.arguments or {})

    return Server("kvplan", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool,
                  instructions="How much GPU memory a model takes, in the engine that runs it, and why. Bytes are integers.")


async def _serve() -> None:
    serves = server()
    async with stdio_server() as (read, write):
        await serves.run(read, write, serves.create_initialization_options())


if __name__ == "__main__":
    anyio.run(_serve)
