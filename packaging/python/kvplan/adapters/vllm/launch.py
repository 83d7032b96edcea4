"""Runs a `vllm serve` command through the release's own parser, checks and validation of the configuration."""
import contextlib
import io
import os

import plan


def parser():
    from vllm.utils.argparse_utils import FlexibleArgumentParser
    try:
        from vllm.entrypoints.common.cli_args import make_arg_parser
    except ImportError:
        from vllm.entrypoints.openai.cli_args import make_arg_parser
    return make_arg_parser(FlexibleArgumentParser())


def validate(args):
    try:
        from vllm.entrypoints.common.cli_args import validate_parsed_serve_args
    except ImportError:
        from vllm.entrypoints.openai.cli_args import validate_parsed_serve_args
    validate_parsed_serve_args(args)


def engine_config(words, **fixed):
    """Does what `vllm serve` does with a command before it starts processes. `fixed` sets fields of its arguments."""
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.usage.usage_lib import UsageContext

    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told):
            args = parser().parse_args(words)
    except SystemExit:
        raise ValueError(told.getvalue().strip().splitlines()[-1]) from None
    if args.model_tag is not None:
        args.model = args.model_tag
    validate(args)
    engine = AsyncEngineArgs.from_cli_args(args)
    fixed["skip_tokenizer_init"] = True  # no files of a tokenizer lie beside the config
    for name, value in fixed.items():
        if hasattr(engine, name):
            setattr(engine, name, value)
    headless = {"headless": args.headless} if hasattr(args, "headless") else {}
    return engine.create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER, **headless)


def row(case):
    """Checks every node's command in turn. The first one that is refused decides."""
    kept = dict(os.environ)
    os.environ.update(case["environment"])
    try:
        for words in case["commands"]:
            if words[:2] != ["vllm", "serve"]:
                return {"refused": f"{words[:2]} is not vllm serve"}
            engine_config(words[2:])
    finally:
        os.environ.clear()
        os.environ.update(kept)
    return {"accepted": True}

