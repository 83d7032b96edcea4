"""Runs a model's own forward pass to fill the cache that generate() makes: first a prompt, then more tokens."""
import inspect

import torch
from held import Count
from transformers import DynamicCache, EncoderDecoderCache, StaticCache
from transformers.modeling_outputs import BaseModelOutput

SOURCE = 50  # tokens that an encoder reads
RETURNED = ("past_key_values", "cache_params", "cache", "state", "mems", "past_buckets_states")  # what classes call their cache


def zeros(length):
    return torch.zeros(1, length, dtype=torch.long, device="meta")


def source_inputs(model, config):
    """The encoder's input."""
    def features(*shape):
        return torch.zeros(1, *shape, device="meta", dtype=model.dtype)

    name = getattr(model, "main_input_name", "input_ids")
    if name == "input_ids":
        return {name: zeros(SOURCE)}
    if config.model_type == "whisper":
        return {name: features(config.num_mel_bins, 2 * config.max_source_positions)}
    if name == "input_features":
        wide = getattr(config, "input_feat_per_channel", None) or getattr(config, "num_mel_bins", None) or \
            getattr(config, "feature_projection_input_dim", 80)
        return {name: features(4 * SOURCE, wide)}
    if name == "input_values":
        return {name: features(32000)}
    raise RuntimeError(f"no input is made for {name}")


def new_cache(model, config):
    """The cache that generate() would pass to the model; None if the model's class makes its own."""
    text = config.get_text_config(decoder=True)
    if config.is_encoder_decoder:
        return EncoderDecoderCache(DynamicCache(config=text), DynamicCache(config=text))
    own = hasattr(model, "_supports_default_dynamic_cache") and not model._supports_default_dynamic_cache()
    return None if own else DynamicCache(config=text)


def key_of(model):
    """The name of forward()'s cache argument: releases since 5.24 rename it, class by class."""
    taken = inspect.signature(model.forward).parameters
    if "cache" in taken and not {"past_key_values", "cache_params"} & set(taken):
        return "cache"
    return "cache_params" if "mamba" in type(model).__name__.lower() else "past_key_values"


def tokens_in(cache):
    """The tokens that the attention layers have received by their own count; None if no layer has a count."""
    half = cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache
    said = [layer.get_seq_length() for layer in getattr(half, "layers", None) or [] if getattr(layer, "keys", None) is not None]
    return max(said, default=None)


def filled(model, config, lengths):
    """An entry for each length, from one run that grows as a chat does. An entry that is "doubtful" does not count: the tokens went to another
    cache."""
    key, taken = key_of(model), inspect.signature(model.forward).parameters
    cache, out, done, most = new_cache(model, config), None, 0, 0
    source = source_inputs(model, config) if config.is_encoder_decoder else {}
    for length in lengths:
        args = {"decoder_input_ids" if config.is_encoder_decoder else "input_ids": zeros(length - done), "use_cache": True}
        if cache is not None:
            args[key] = cache
        read = getattr(out, "encoder_last_hidden_state", None)
        args.update(source if read is None else {"encoder_outputs": BaseModelOutput(last_hidden_state=read)})
        with torch.no_grad():
            out = model(**args)
        for name in RETURNED:
            if getattr(out, name, None) is not None:
                cache = getattr(out, name)
                key = name if name in taken else key  # Dory returns it under a name that it does not take
                break
        if cache is None:
            raise RuntimeError("no cache came back")
        row = entry(length, length - done, cache, model)
        held = tokens_in(cache)
        if held not in (None, 0, length):
            row["doubtful"] = f"the cache says that it was given {held} tokens"
        elif row["bytes"] < most and "pinned" not in row:
            row["doubtful"] = f"the cache shrank from {most} bytes"
        yield row
        done, most = length, max(most, row["bytes"])


def entry(tokens, step, cache, model):
    count = Count(cache, model)
    out = {"tokens": tokens, "bytes": count.bytes}
    if isinstance(cache, EncoderDecoderCache):
        cross = [layer.keys for layer in cache.cross_attention_cache.layers if getattr(layer, "keys", None) is not None]
        if cross:
            out["source"] = cross[0].shape[-2]
    if count.storage != count.bytes:  # views: what they hold for good after a decoded token, after a prompt for a moment
        out["storage" if step == 1 else "pinned"] = count.storage
    return {**out, "layers": count.layers()}


def filled_static(model, config, length):
    """A static cache of that length, after a few tokens, because its layers allocate at the first token."""
    cache = StaticCache(config=config.get_text_config(decoder=True), max_cache_len=length)
    with torch.no_grad():
        model(input_ids=zeros(4), use_cache=True, **{key_of(model): cache})
    count = Count(cache, model)
    return {"tokens": length, "bytes": count.bytes, "layers": count.layers()}
