#!/usr/bin/env python3
"""The default config of every class that generates text, without the keys that do not affect memory. Run as a program, prints the model types as
JSON."""
import json
import re

import imports  # noqa: F401  (first: it sets how the library is imported)
import transformers
from transformers.models.auto import modeling_auto as auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

MAPPINGS = [  # of several classes of a type, the one that has the whole model
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES",
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
]

NOTHING_OF_MEMORY = re.compile(
    r"(.*_)?(dropout|pdrop|layerdrop|dropout_prob|dropout_rate|dropout_p|drop_path_rate)"
    r"|initializer_(range|factor)|init_std|embed_init_std|(final_)?w_init_variance_scale"
    r"|id2label|label2id|problem_type|_name_or_path|transformers_version"
    r"|(.*_)?(bos|eos|sep|decoder_start|forced_bos|forced_eos)_token_id|(begin_)?suppress_tokens"
    r"|use_cache|return_dict|output_(attentions|hidden_states|router_logits)|(.*_)?aux_loss_coef|router_jitter_noise"
    r"|time_step_(min|max|floor|limit)|chunk_size_feed_forward|pretraining_tp")


def class_name(model_type):
    for mapping in MAPPINGS:
        found = getattr(auto, mapping, {}).get(model_type)  # 4.57 lacks one
        if found:
            return found if isinstance(found, str) else found[0]
    return None


def encoder_only(config):
    """Whether this is an encoder that can have a decoding head: its class also trains with masks, and its default config does not decode."""
    both = config.model_type in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES and config.model_type in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    return both and not config.is_encoder_decoder and not getattr(config, "is_decoder", True)


def types():
    return [t for t in sorted(CONFIG_MAPPING_NAMES) if class_name(t)]


def written(config):
    return json.loads(config.to_json_string(use_diff=False))


def reduced(config):
    """A default config as a config.json has it: without the keys that every config has by default and those that do not affect memory."""
    config = getattr(transformers, "PreTrainedConfig", None) or transformers.PretrainedConfig  # the name in 4.57
    everyone = config().to_dict()

    def of(node):
        return {k: of(v) if isinstance(v, dict) else v for k, v in node.items()
                if not NOTHING_OF_MEMORY.fullmatch(k) and (k == "tie_word_embeddings" or k not in everyone or v != everyone[k])}

    return {**of(written(config)), "architectures": [class_name(config.model_type)], "model_type": config.model_type, "dtype": "bfloat16"}


def over(below, above):
    return {**below, **{k: over(below[k], v) if isinstance(v, dict) and isinstance(below.get(k), dict) else v for k, v in above.items()}}


def default(model_type):
    return reduced(CONFIG_MAPPING[model_type]())


if __name__ == "__main__":
    print(json.dumps(types()))
