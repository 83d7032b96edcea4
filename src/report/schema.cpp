// The JSON Schema (2020-12) of everything that kvplan prints as JSON. Keys may be added within a schema_version, so
// unknown keys are allowed; a test holds every report against a copy that forbids them.
#include "kvplan/version.h"
#include "report/diff_schema.h"
#include "report/measurement.h"
#include "report/report.h"

namespace kvplan {

namespace {

constexpr std::string_view kSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "urn:kvplan:schema:1",
  "title": "kvplan report",
  "description": "What kvplan prints with --format json: a plan, a fleet of plans, the answers of compare and fit, or the difference of two plans. Bytes are integers and their keys end in _bytes; what does not apply is null, never absent.",
  "oneOf": [
    {"$ref": "#/$defs/plan"},
    {"$ref": "#/$defs/fleet"},
    {"$ref": "#/$defs/answers"},
    {"$ref": "#/$defs/diff"},
    {"$ref": "#/$defs/grid"},
    {"$ref": "#/$defs/fits"},
    {"$ref": "#/$defs/calibration_file"}
  ],
  "$defs": {
    "count": {"type": "integer", "minimum": 0},
    "count_or_null": {"type": ["integer", "null"], "minimum": 0},
    "text_or_null": {"type": ["string", "null"]},
    "schema_version": {"const": 1},
    "plan": {
      "description": "kvplan MODEL --format json",
      "type": "object",
      "required": ["schema_version", "kvplan_version", "model", "request", "kv_cache", "memory", "total", "capacity", "verdict", "notes"],
      "properties": {
        "schema_version": {"$ref": "#/$defs/schema_version"},
        "kvplan_version": {"type": "string"},
        "model": {"$ref": "#/$defs/model"},
        "request": {"$ref": "#/$defs/request"},
        "kv_cache": {"$ref": "#/$defs/kv_cache"},
        "memory": {"$ref": "#/$defs/memory"},
        "total": {"$ref": "#/$defs/total"},
        "host_memory": {"$ref": "#/$defs/host_memory"},
        "capacity": {"$ref": "#/$defs/capacity"},
        "mix": {"$ref": "#/$defs/mix"},
        "bounds": {"$ref": "#/$defs/bounds"},
        "verdict": {"$ref": "#/$defs/verdict"},
        "calibration": {"$ref": "#/$defs/calibration"},
        "measurement": {"$ref": "#/$defs/measurement"},
        "notes": {"$ref": "#/$defs/notes"}
      }
    },
    "fleet": {
      "description": "kvplan MODEL MODEL... or a directory of configs; also with one entry",
      "type": "object",
      "required": ["schema_version", "kvplan_version", "plans"],
      "properties": {
        "schema_version": {"$ref": "#/$defs/schema_version"},
        "kvplan_version": {"type": "string"},
        "plans": {"type": "array", "items": {"oneOf": [{"$ref": "#/$defs/plan"}, {"$ref": "#/$defs/failed"}]}}
      }
    },
    "failed": {
      "description": "a model of a fleet that has no plan",
      "type": "object",
      "required": ["source", "error", "exit"],
      "properties": {
        "source": {"type": "string"},
        "error": {"type": "string"},
        "exit": {"description": "the exit code that this model alone would have", "type": "integer", "minimum": 1, "maximum": 5}
      }
    },
    "grid": {
      "description": "kvplan MODEL... --gpu A,B: models, engines and weight types as rows, cards as columns",
      "type": "object",
      "required": ["schema_version", "kvplan_version", "cards", "rows"],
      "properties": {
        "schema_version": {"$ref": "#/$defs/schema_version"},
        "kvplan_version": {"type": "string"},
        "cards": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["gpu", "gpu_count", "gpu_memory_bytes"],
            "properties": {"gpu": {"type": "string"}, "gpu_count": {"type": "integer", "minimum": 1}, "gpu_memory_bytes": {"description": "of one card", "$ref": "#/$defs/count"}}
          }
        },
        "rows": {"type": "array", "items": {"oneOf": [{"$ref": "#/$defs/grid_row"}, {"$ref": "#/$defs/failed"}]}}
      }
    },
    "grid_row": {
      "type": "object",
      "required": ["source", "engine", "engine_version", "weights_dtype", "kv_cache_dtype", "max_model_len", "num_seqs", "cells"],
      "properties": {
        "source": {"type": "string"},
        "engine": {"type": "string"},
        "engine_version": {"type": "string"},
        "weights_dtype": {"$ref": "#/$defs/text_or_null"},
        "kv_cache_dtype": {"type": "string"},
        "max_model_len": {"description": "as requested", "type": "integer", "minimum": 1},
        "num_seqs": {"type": "integer", "minimum": 1},
        "cells": {
          "description": "one for each card, in the order of cards",
          "type": "array",
          "items": {
            "type": "object",
            "required": ["gpu", "error", "tensor_parallel_size", "pipeline_parallel_size", "total_bytes", "max_model_len", "max_num_seqs", "verdict"],
            "properties": {
              "gpu": {"type": "string"},
              "error": {"description": "why the engine refuses; the rest is null then", "$ref": "#/$defs/text_or_null"},
              "tensor_parallel_size": {"type": ["integer", "null"], "minimum": 1},
              "pipeline_parallel_size": {"type": ["integer", "null"], "minimum": 1},
              "total_bytes": {"description": "of the fullest GPU", "$ref": "#/$defs/count_or_null"},
              "max_model_len": {"description": "the longest that fits at the requested sequences", "$ref": "#/$defs/count_or_null"},
              "max_num_seqs": {"description": "the most at the requested length", "$ref": "#/$defs/count_or_null"},
              "verdict": {"oneOf": [{"$ref": "#/$defs/verdict"}, {"type": "null"}]}
            }
          }
        }
      }
    },
    "fits": {
      "description": "kvplan fit with several engines or cards: an answer of fit for each",
      "type": "object",
      "required": ["schema_version", "kvplan_version", "fits"],
      "properties": {
        "schema_version": {"$ref": "#/$defs/schema_version"},
        "kvplan_version": {"type": "string"},
        "fits": {"type": "array", "items": {"oneOf": [{"$ref": "#/$defs/answers"}, {"$ref": "#/$defs/failed"}]}}
      }
    },
    "answers": {
      "description": "kvplan compare and kvplan fit: each answer is a plan, with the options in which it differs from the request",
      "type": "object",
      "required": ["schema_version", "kvplan_version", "model", "request", "answers", "notes"],
      "properties": {
        "schema_version": {"$ref": "#/$defs/schema_version"},
        "kvplan_version": {"type": "string"},
        "model": {"$ref": "#/$defs/model"},
        "request": {"$ref": "#/$defs/request"},
        "answers": {"type": "array", "items": {"$ref": "#/$defs/answer"}},
        "notes": {"$ref": "#/$defs/notes"}
      }
    },
    "answer": {
      "type": "object",
      "required": ["name", "changes", "weights_dtype", "kv_cache_dtype", "kv_cache", "memory", "total", "capacity", "verdict"],
      "properties": {
        "name": {"type": "string"},
        "changes": {"description": "option and value", "type": "object", "additionalProperties": {"type": "string"}},
        "weights_dtype": {"$ref": "#/$defs/text_or_null"},
        "kv_cache_dtype": {"type": "string"},
        "kv_cache": {"$ref": "#/$defs/kv_cache"},
        "memory": {"$ref": "#/$defs/memory"},
        "total": {"$ref": "#/$defs/total"},
        "capacity": {"$ref": "#/$defs/capacity"},
        "verdict": {"$ref": "#/$defs/verdict"}
      }
    },
@DIFF@)json"
                                     // Compilers promise 64 KiB to a literal; two are easier to read.
                                     R"json(    "model": {
      "type": "object",
      "required": ["source", "model_type", "architecture", "name", "checked", "attention", "dtype", "num_layers", "max_model_len", "parameters", "config", "layers"],
      "properties": {
        "source": {"type": "string"},
        "model_type": {"$ref": "#/$defs/text_or_null"},
        "architecture": {"$ref": "#/$defs/text_or_null"},
        "name": {"type": "string"},
        "checked": {"description": "what its weights were held against; null: unverified", "$ref": "#/$defs/text_or_null"},
        "attention": {"description": "the one kind of all caching layers, or hybrid where they differ",
                      "anyOf": [{"$ref": "#/$defs/kind"}, {"const": "hybrid"}]},
        "dtype": {"type": "string"},
        "num_layers": {"$ref": "#/$defs/count"},
        "max_model_len": {"$ref": "#/$defs/count_or_null"},
        "parameters": {
          "type": ["object", "null"],
          "required": ["total", "active"],
          "properties": {
            "total": {"description": "unique parameters of the main model", "$ref": "#/$defs/count"},
            "active": {"description": "those that one token passes through", "$ref": "#/$defs/count"},
            "mtp": {"$ref": "#/$defs/count_or_null"}
          }
        },
        "config": {
          "description": "what the plan read, and from where",
          "type": "array",
          "items": {
            "type": "object",
            "required": ["key", "value", "origin"],
            "properties": {
              "key": {"type": "string"},
              "value": true,
              "origin": {"enum": ["file", "alias", "class_default", "derived"]}
            }
          }
        },
        "layers": {"description": "a row for each distinct layer", "type": "array", "items": {"$ref": "#/$defs/layer"}},
        "sides": {
          "description": "models beside the decoder, without a cache",
          "type": "array",
          "items": {
            "type": "object",
            "required": ["what", "model_type", "num_layers"],
            "properties": {
              "what": {"type": "string"},
              "model_type": {"$ref": "#/$defs/text_or_null"},
              "num_layers": {"$ref": "#/$defs/count_or_null"}
            }
          }
        }
      }
    },
    "kind": {
      "enum": [@KINDS@]
    },
    "layer": {
      "type": "object",
      "required": ["kind", "variant", "count", "indices", "bytes_per_token", "bytes_per_sequence", "token_limit", "terms"],
      "properties": {
        "kind": {"$ref": "#/$defs/kind"},
        "variant": {"$ref": "#/$defs/text_or_null"},
        "count": {"$ref": "#/$defs/count"},
        "indices": {"type": "string", "pattern": "^[0-9]+(-[0-9]+)?(, ?[0-9]+(-[0-9]+)?)*$"},
        "bytes_per_token": {"description": "of one such layer", "$ref": "#/$defs/count"},
        "bytes_per_sequence": {"description": "fixed state of one such layer", "$ref": "#/$defs/count"},
        "token_limit": {"description": "tokens beyond it cost nothing", "$ref": "#/$defs/count_or_null"},
        "terms": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["name", "role", "elements", "per", "dtype"],
            "properties": {
              "name": {"type": "string"},
              "role": {"enum": ["key", "value", "state", "index"]},
              "elements": {"$ref": "#/$defs/count"},
              "per": {"enum": ["token", "source_token", "sequence"]},
              "dtype": {"type": "string"},
              "bytes": {"description": "of one entry", "$ref": "#/$defs/count"},
              "stride": {"description": "tokens for one entry", "type": "integer", "minimum": 1},
              "token_limit": {"$ref": "#/$defs/count_or_null"}
            }
          }
        }
      }
    },
    "request": {
      "type": "object",
      "required": ["engine", "engine_version", "max_model_len", "num_seqs", "kv_cache_dtype", "weights_dtype", "tensor_parallel_size", "pipeline_parallel_size"],
      "properties": {
        "engine": {"type": "string"},
        "engine_version": {"type": "string"},
        "max_model_len": {"type": "integer", "minimum": 1},
        "num_seqs": {"type": "integer", "minimum": 1},
        "max_num_seqs": {"$ref": "#/$defs/count_or_null"},
        "max_num_batched_tokens": {"$ref": "#/$defs/count_or_null"},
        "encoder_len": {"$ref": "#/$defs/count_or_null"},
        "kv_cache_dtype": {"type": "string"},
        "state_dtype": {"type": "string"},
        "weights_dtype": {"$ref": "#/$defs/text_or_null"},
        "tensor_parallel_size": {"type": "integer", "minimum": 1},
        "pipeline_parallel_size": {"type": "integer", "minimum": 1},
        "data_parallel_size": {"type": "integer", "minimum": 1},
        "decode_context_parallel_size": {"type": "integer", "minimum": 1},
        "enable_expert_parallel": {"type": "boolean"},
        "enforce_eager": {"type": "boolean"},
        "attention": {"description": "as --attention named it", "enum": ["naive", "flash", null]},
        "margin": {"description": "--margin as a share", "type": ["number", "null"], "minimum": 0},
        "num_beams": {"type": "integer", "minimum": 1},
        "num_samples": {"type": "integer", "minimum": 1},
        "speculative_method": {"enum": ["draft_model", "eagle", "eagle3", "mtp", "medusa", "ngram", null]},
        "num_speculative_tokens": {"$ref": "#/$defs/count_or_null"},
        "draft": {"$ref": "#/$defs/text_or_null"},
        "max_loras": {"$ref": "#/$defs/count_or_null"},
        "max_lora_rank": {"$ref": "#/$defs/count_or_null"},
        "loras": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["source", "rank", "targets", "elements", "stored_bytes"],
            "properties": {
              "source": {"type": "string"},
              "rank": {"$ref": "#/$defs/count_or_null"},
              "targets": {"type": "array", "items": {"type": "string"}},
              "elements": {"$ref": "#/$defs/count"},
              "stored_bytes": {"$ref": "#/$defs/count"}
            }
          }
        },
        "mmproj": {"$ref": "#/$defs/text_or_null"},
        "gpu": {"$ref": "#/$defs/text_or_null"},
        "gpu_memory_bytes": {"$ref": "#/$defs/count_or_null"},
        "gpu_memory_utilization": {"description": "the share of the card that the engine may use", "type": ["number", "null"]},
        "kv_cache_memory_bytes": {"$ref": "#/$defs/count_or_null"}
      }
    },
    "kv_cache": {
      "type": "object",
      "required": ["bytes_per_token", "bytes_per_token_in_window", "bytes_per_sequence", "logical_bytes", "logical_bytes_per_gpu", "reserved_bytes", "reserved_total_bytes", "gap", "block_size", "groups"],
      "properties": {
        "bytes_per_token": {"description": "what one more token of one sequence adds beyond every window", "$ref": "#/$defs/count"},
        "bytes_per_token_in_window": {"$ref": "#/$defs/count"},
        "bytes_per_sequence": {"$ref": "#/$defs/count"},
        "logical_bytes": {"description": "what the architecture needs for the request, whole model", "$ref": "#/$defs/count"},
        "logical_bytes_per_gpu": {"$ref": "#/$defs/count"},
        "reserved_bytes": {"description": "what the engine takes on the fullest GPU", "$ref": "#/$defs/count"},
        "reserved_total_bytes": {"$ref": "#/$defs/count"},
        "gap": {
          "description": "from logical_bytes_per_gpu to reserved_bytes; adds up exactly",
          "type": "array",
          "items": {
            "type": "object",
            "required": ["reason", "bytes"],
            "properties": {"reason": {"type": "string"}, "bytes": {"type": "integer"}}
          }
        },
        "block_size": {"$ref": "#/$defs/count_or_null"},
        "groups": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["kind", "layers", "block_size", "page_bytes"],
            "properties": {
              "kind": {"type": "string"},
              "layers": {"$ref": "#/$defs/count"},
              "block_size": {"$ref": "#/$defs/count_or_null"},
              "page_bytes": {"$ref": "#/$defs/count_or_null"}
            }
          }
        }
      }
    },
    "memory": {
      "description": "a row for each GPU; the four parts add up to the total",
      "type": "array",
      "minItems": 1,
      "items": {
        "type": "object",
        "required": ["gpu", "weights_bytes", "kv_cache_bytes", "activation_bytes", "runtime_bytes", "total_bytes", "lines"],
        "properties": {
          "gpu": {"$ref": "#/$defs/count"},
          "weights_bytes": {"$ref": "#/$defs/count_or_null"},
          "kv_cache_bytes": {"$ref": "#/$defs/count_or_null"},
          "activation_bytes": {"$ref": "#/$defs/count_or_null"},
          "runtime_bytes": {"$ref": "#/$defs/count_or_null"},
          "total_bytes": {"$ref": "#/$defs/count"},
          "lines": {
            "type": "array",
            "items": {
              "type": "object",
              "required": ["basis", "part", "what", "bytes", "low_bytes", "high_bytes", "formula", "source"],
              "properties": {
                "basis": {"enum": ["exact", "estimate", "log", "calibrated"]},
                "part": {"enum": ["weights", "kv_cache", "activation", "runtime"]},
                "what": {"type": "string"},
                "bytes": {"$ref": "#/$defs/count"},
                "low_bytes": {"$ref": "#/$defs/count"},
                "high_bytes": {"$ref": "#/$defs/count"},
                "formula": {"type": "string"},
                "source": {"type": "string"}
              }
            }
          }
        }
      }
    },
    "total": {
      "description": "all GPUs; the range comes from what is estimated",
      "type": "object",
      "required": ["bytes", "low_bytes", "high_bytes"],
      "properties": {
        "bytes": {"$ref": "#/$defs/count"},
        "low_bytes": {"$ref": "#/$defs/count"},
        "high_bytes": {"$ref": "#/$defs/count"}
      }
    },
    "host_memory": {
      "description": "what an engine keeps in host memory besides: no part of the GPUs' totals; null where it keeps nothing there",
      "type": ["object", "null"],
      "required": ["total_bytes", "lines"],
      "properties": {
        "total_bytes": {"$ref": "#/$defs/count"},
        "lines": {"type": "array", "items": {"type": "object"}}
      }
    },
    "mix": {
      "description": "the waste of slabs and of pages over a mix of sequence lengths; null without one",
      "type": ["object", "null"],
      "properties": {
        "sequences": {"$ref": "#/$defs/count"},
        "tokens": {"$ref": "#/$defs/count"},
        "needed_bytes": {"$ref": "#/$defs/count"},
        "slab_bytes": {"$ref": "#/$defs/count"},
        "slab_waste_bytes": {"$ref": "#/$defs/count"},
        "block_size": {"$ref": "#/$defs/count"},
        "engine_pages": {"type": "boolean"},
        "page_bytes": {"$ref": "#/$defs/count"},
        "page_waste_bytes": {"$ref": "#/$defs/count"},
        "page_table_bytes": {"$ref": "#/$defs/count"},
        "shared_prefix": {"$ref": "#/$defs/count"},
        "shared_saving_bytes": {"$ref": "#/$defs/count"}
      }
    },
    "bounds": {
      "description": "bounds of speed from the card's bandwidth: upper for tokens a second, lower for the first token; null where no bandwidth is known",
      "type": ["object", "null"],
      "required": ["bandwidth_gb_s", "num_seqs", "weights_read_bytes", "weights_read_batch_bytes", "cache_read_bytes", "tokens_per_s_empty", "tokens_per_s", "tokens_per_s_batch", "cache_outweighs_at", "prefill_flops", "tflops", "first_token_s"],
      "properties": {
        "bandwidth_gb_s": {"description": "10^9 bytes a second of one GPU", "type": "number", "exclusiveMinimum": 0},
        "num_seqs": {"$ref": "#/$defs/count"},
        "weights_read_bytes": {"description": "of one rank, all stages, in a step of one sequence", "$ref": "#/$defs/count"},
        "weights_read_batch_bytes": {"description": "in a step of the whole batch: more experts", "$ref": "#/$defs/count"},
        "cache_read_bytes": {"description": "of one sequence at full length", "$ref": "#/$defs/count"},
        "tokens_per_s_empty": {"description": "one sequence, nothing cached", "type": "number", "minimum": 0},
        "tokens_per_s": {"description": "one sequence at full length", "type": "number", "minimum": 0},
        "tokens_per_s_batch": {"description": "all sequences together, each at full length", "type": "number", "minimum": 0},
        "cache_outweighs_at": {"description": "sequences from which a step reads more cache than weights", "$ref": "#/$defs/count_or_null"},
        "prefill_flops": {"description": "of one prompt of full length", "type": "number", "minimum": 0},
        "tflops": {"description": "10^12 a second of one GPU, dense", "type": ["number", "null"]},
        "first_token_s": {"type": ["number", "null"], "minimum": 0}
      }
    },
    "capacity": {
      "description": "null without a GPU, a size or a KV budget",
      "type": ["object", "null"],
      "required": ["kv_cache_memory_bytes", "num_blocks", "tokens", "max_concurrency", "max_model_len", "max_num_seqs"],
      "properties": {
        "kv_cache_memory_bytes": {"description": "per GPU", "$ref": "#/$defs/count"},
        "num_blocks": {"$ref": "#/$defs/count_or_null"},
        "tokens": {"$ref": "#/$defs/count_or_null"},
        "max_concurrency": {"type": "number", "minimum": 0},
        "max_model_len": {"description": "the longest at the requested sequences; null: any length", "$ref": "#/$defs/count_or_null"},
        "max_num_seqs": {"description": "the most at the requested length; null: any number", "$ref": "#/$defs/count_or_null"}
      }
    },
    "verdict": {
      "type": "object",
      "required": ["status", "close", "reason", "headroom_bytes", "starts", "refusal", "runs_at_once", "budget_bytes", "suggestions"],
      "properties": {
        "status": {"enum": ["fits", "does_not_fit", "unknown"]},
        "close": {"description": "the limit lies inside the range", "type": "boolean"},
        "reason": {"type": "string"},
        "headroom_bytes": {"description": "negative where memory is missing", "type": ["integer", "null"]},
        "starts": {"description": "the engine starts, whether or not all sequences run at once; null where not known", "type": ["boolean", "null"]},
        "refusal": {"description": "why it does not start, where that is not memory", "$ref": "#/$defs/text_or_null"},
        "runs_at_once": {"description": "sequences like the request's that the engine's scheduler runs together; null where not known", "$ref": "#/$defs/count_or_null"},
        "budget_bytes": {"description": "what the verdict was held against", "$ref": "#/$defs/count_or_null"},
        "suggestions": {
          "description": "what makes it fit: one change each, the one that gives up least first",
          "type": "array",
          "items": {
            "type": "object",
            "required": ["changes", "total_bytes", "headroom_bytes"],
            "properties": {
              "changes": {"description": "option and value", "type": "object", "additionalProperties": {"type": "string"}},
              "total_bytes": {"description": "of the fullest GPU, then", "$ref": "#/$defs/count"},
              "headroom_bytes": {"type": ["integer", "null"]}
            }
          }
        },
        "either_way_bytes": {"description": "where it is close: half the width of the range of what a GPU needs", "$ref": "#/$defs/count_or_null"},
        "advice": {"description": "where it is close: what to lower first; where a stated mix of lengths is not what the verdict is for: whether it fits", "$ref": "#/$defs/text_or_null"}
      }
    },
@MEASUREMENT@    "notes": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["level", "code", "message"],
        "properties": {
          "level": {"enum": ["info", "warning"]},
          "code": {"description": "stable, for programs", "type": "string"},
          "message": {"type": "string"}
        }
      }
    }
  }
}
)json";

}  // namespace

std::string schema_json() {
  std::string kinds;
  for (const KindInfo& kind : all_kinds()) {
    const std::string quoted = "\"" + std::string(kind.name) + "\"";
    if (kinds.find(quoted) == std::string::npos) kinds += (kinds.empty() ? "" : ", ") + quoted;
  }
  std::string out(kSchema);
  const std::string_view measured = measurement_schema();
  for (const auto& [mark, text] :
       {std::pair(std::string_view("@KINDS@"), std::string_view(kinds)),
        std::pair(std::string_view("@DIFF@"), diff_schema()), std::pair(std::string_view("@MEASUREMENT@"), measured)})
    out.replace(out.find(mark), mark.size(), text);
  return out;
}

}  // namespace kvplan
