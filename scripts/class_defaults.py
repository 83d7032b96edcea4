#!/usr/bin/env python3
"""Writes the defaults of transformers' config classes for keys that a config leaves out.

    PYTHON scripts/class_defaults.py [-o src/models/class_defaults.txt]

PYTHON has the wanted release of transformers (`pip install transformers==5.24.0` in a separate environment; torch is not needed). The script
constructs each config class without arguments, and the nested ones. It keeps numbers, booleans, nulls and words, except those that do not affect
memory (token ids, probabilities, labels). Lists are left out, because patterns of layers are separate rules. A key that the class computes from
other keys names them: "head_dim=128<hidden_size" is the value unless a config gives hidden_size another value. The script finds them by changing
every number and looking at which other values change. If a class reads a key of older files while it builds its lists
(`kwargs.pop("full_attention_interval", 4)`), its default is read from the source.

Each class has a line "model_type: key=value key=value", sorted by type, with values as JSON. The first line names the release. If the outer class
has its own defaults for a nested config (Voxtral's decoder is not a default Llama), there is a line "outer type/key/model_type".
"""
import argparse
import contextlib
import dataclasses
import inspect
import io
import json
import logging
import re
import sys
import warnings

# Keys that do not affect shapes or layers. In which type an engine stores a tensor is the engine's rule.
UNREAD = re.compile(
    r"""_token_id$|_token_index$|_id$|^id2label|^label2id|dropout|drop_rate|_drop$|_pdrop$|_prob$|probability|initializer|init_std|^init_|_init$
    |_act$|^activation$|^hidden_act|_eps$|epsilon|^norm_eps|_scale$|^scale$|scaling|_multipliers?$|_coef$|_coeff$|loss|alpha|_beta$|_gamma$|temperature
    |^output_attentions|^output_hidden|^output_router|^return_dict|^use_cache$|^is_decoder$|^is_encoder_decoder$|^chunk_size_feed_forward$|^problem_type$
    |^architectures$|dtype$|^transformers_version$|^model_type$|^tokenizer|_attn_implementation|^gradient|^attn_implementation
    |rope_theta|_theta$|^mask_|layerdrop|^summary_|jitter|^label|softcapping|^logit_|time_step|^mlp_type$|^position_embedding_type$
    |^add_cross_attention$|^classifier|^pad_|_std$|_min$|_max$|_floor$|^rope_|_rope_base|base_frequency""", re.VERBOSE)

# Lists that a class computes by its own rule, written as the keys with which other classes express that rule.
OF_HY_V4 = {"first_k_dense_replace": 1, "index_topk_freq": 4, "index_skip_topk_offset": 2}
RULES = {"hy_v4": OF_HY_V4, "hy_v4_vl_text": OF_HY_V4}


def quiet(make):
    """The class's config, without the messages that its constructor prints; None if it cannot be created."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            return make().to_dict()
        except Exception:  # a class may refuse anything
            return None


def fields_of(config_class):
    """The defaults of the fields of a class that refuses its own defaults."""
    made = quiet(config_class)
    if made is not None or not dataclasses.is_dataclass(config_class):
        return made
    return {f.name: f.default for f in dataclasses.fields(config_class) if f.init}


def is_plain(value):
    return value is None or isinstance(value, (bool, int, float, str))


def sources_of(config_class, fields):
    """{key: keys that change together with it}."""
    out = {}
    for key, value in fields.items():
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            continue
        moved = quiet(lambda: config_class(**{key: value * 2})) or {}
        for other, was in fields.items():
            if other != key and moved.get(other, was) != was:
                out.setdefault(other, []).append(key)
    return out


def kept_of(fields):
    return {k: v for k, v in sorted(fields.items())
            if is_plain(v) and not UNREAD.search(k) and not (isinstance(v, str) and (re.search(r"[\s<]", v) or not v))}


def older_keys(config_class):
    """{key: number} for keys that a class still accepts but does not store."""
    made = inspect.getsource(config_class.__post_init__)
    return {k: json.loads(v) for k, v in re.findall(r'kwargs\.(?:pop|get)\("(\w+)", (\d+)\)', made)}


def row_of(config_class):
    """{key: JSON text of its value}."""
    kept = kept_of(fields_of(config_class) or {})
    sources = sources_of(config_class, kept)
    told = {**kept_of(older_keys(config_class)), **RULES.get(config_class.model_type, {}), **kept}
    return {k: json.dumps(v) + ("<" + ",".join(sources[k]) if k in sources else "") for k, v in sorted(told.items())}


def nested_rows(config_class, rows, found):
    """{(key, type): row} of nested configs for which a class has other values than their own class."""
    out = {}
    for key, value in (quiet(config_class) or {}).items():
        inner = value.get("model_type") if isinstance(value, dict) else None
        if inner not in rows:
            continue
        made = (quiet(lambda: config_class(**{key: {"model_type": inner}})) or {}).get(key)
        if not isinstance(made, dict):
            continue
        made = kept_of(made)

        def moved_from(own):
            return {k: v for k, v in made.items() if own and own.get(k, v) != v}

        moved = moved_from(fields_of(found[inner]))
        moved |= moved_from(quiet(lambda: found[inner](**moved)))  # what the inner class would derive from them
        if moved:
            out[key, inner] = dict(sorted({**rows[inner], **{k: json.dumps(v) for k, v in moved.items()}}.items()))
    return out


def classes():
    """{model_type: class} of all classes that the library maps, and of the classes nested in them."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

    out = {}
    for name in sorted(CONFIG_MAPPING_NAMES):
        todo = [(name, CONFIG_MAPPING[name])]
        while todo:
            model_type, config_class = todo.pop()
            if model_type in out or not model_type:
                continue
            out[model_type] = config_class
            for inner in (getattr(config_class, "sub_configs", None) or {}).values():
                if getattr(inner, "model_type", "") and inner.__name__ != "AutoConfig":
                    todo.append((inner.model_type, inner))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="-")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    import transformers

    lines = [f"# transformers {transformers.__version__}: config classes constructed without arguments"]
    try:
        found = classes()
    except ImportError as error:
        sys.exit(f"{error}; use an environment that has transformers alone")
    rows = {}
    for i, (model_type, config_class) in enumerate(sorted(found.items())):
        if sys.stderr.isatty():
            print(f"\r\033[K{i + 1}/{len(found)} {model_type}", end="", file=sys.stderr, flush=True)
        rows[model_type] = row_of(config_class)
    for model_type, config_class in found.items():
        for (key, inner), row in nested_rows(config_class, rows, found).items():
            rows[f"{model_type}/{key}/{inner}"] = row
    for name, row in sorted(rows.items()):
        if row:
            lines.append(f"{name}: " + " ".join(f"{k}={v}" for k, v in row.items()))
    text = "\n".join(lines) + "\n"
    if args.output == "-":
        sys.stdout.write(text)
    else:
        with open(args.output, "w") as f:
            f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
