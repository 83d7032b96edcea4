"""Lists the options of the release's own parser."""
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import parser_options  # noqa: E402  (in the folder above)


def of(cls, parser_class):
    return parser_options.of(cls.add_cli_args(parser_class()), {"loads": "json"}, with_defaults=True)


def row():
    from vllm.engine.arg_utils import AsyncEngineArgs, EngineArgs
    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError:
        from vllm.utils import FlexibleArgumentParser
    engine, server = of(EngineArgs, FlexibleArgumentParser), of(AsyncEngineArgs, FlexibleArgumentParser)
    return {"options": engine, "of_the_server_too": {name: server[name] for name in server if name not in engine}}
