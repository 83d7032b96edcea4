#include "report/measurement.h"

namespace kvplan {

std::string_view measurement_schema() {
  return R"json(    "measurement": {
      "description": "--measure: the plan's cache, allocated on a device",
      "type": ["object", "null"],
      "required": ["device", "gpu", "max_model_len", "num_seqs", "scaled", "lines", "planned_bytes", "measured_bytes", "left_bytes", "difference", "tolerance", "bandwidth_gb_s", "maximum", "status", "reason"],
      "properties": {
        "device": {
          "type": "object",
          "required": ["id", "name", "driver", "nominal_bytes", "usable_bytes", "context_bytes", "granularity_bytes", "free_bytes", "used_by_others_bytes", "other_processes"],
          "properties": {
            "id": {"type": "string"},
            "name": {"type": "string"},
            "driver": {"$ref": "#/$defs/text_or_null"},
            "nominal_bytes": {"description": "that the driver's own tools report", "$ref": "#/$defs/count_or_null"},
            "usable_bytes": {"description": "that a program sees in all", "$ref": "#/$defs/count"},
            "context_bytes": {"description": "taken by opening the device", "$ref": "#/$defs/count_or_null"},
            "granularity_bytes": {"$ref": "#/$defs/count"},
            "free_bytes": {"description": "before anything was allocated", "$ref": "#/$defs/count"},
            "used_by_others_bytes": {"$ref": "#/$defs/count"},
            "other_processes": {"$ref": "#/$defs/count_or_null"}
          }
        },
        "planned_context_bytes": {"description": "what the plan says of opening the device", "$ref": "#/$defs/count_or_null"},
        "gpu": {"description": "of the plan: the one whose share was allocated", "$ref": "#/$defs/count"},
        "max_model_len": {"description": "as measured", "$ref": "#/$defs/count"},
        "num_seqs": {"$ref": "#/$defs/count"},
        "scaled": {"description": "why that is less than the plan", "$ref": "#/$defs/text_or_null"},
        "lines": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["what", "buffers", "planned_bytes", "rounding_bytes", "measured_bytes", "difference_bytes", "reason"],
            "properties": {
              "what": {"type": "string"},
              "buffers": {"$ref": "#/$defs/count"},
              "planned_bytes": {"$ref": "#/$defs/count"},
              "rounding_bytes": {"description": "at most, by the granularity", "$ref": "#/$defs/count"},
              "measured_bytes": {"$ref": "#/$defs/count"},
              "difference_bytes": {"type": "integer"},
              "reason": {"$ref": "#/$defs/text_or_null"}
            }
          }
        },
        "planned_bytes": {"$ref": "#/$defs/count"},
        "measured_bytes": {"$ref": "#/$defs/count"},
        "left_bytes": {"description": "what the device's counter had changed by when all was freed: memory of others", "type": "integer"},
        "difference": {"description": "of measured from planned, as a share", "type": "number"},
        "tolerance": {"type": "number"},
        "bandwidth_gb_s": {
          "description": "read and written, streaming the cache; null where it is too small to say",
          "type": ["object", "null"],
          "required": ["n", "low", "high", "mean"],
          "properties": {"n": {"$ref": "#/$defs/count"}, "low": {"type": "number"}, "high": {"type": "number"}, "mean": {"type": "number"}}
        },
        "maximum": {
          "description": "--measure-max: the largest context whose cache allocates",
          "type": ["object", "null"],
          "required": ["max_model_len", "num_seqs", "bytes", "tries", "limited_by"],
          "properties": {
            "max_model_len": {"$ref": "#/$defs/count"},
            "num_seqs": {"$ref": "#/$defs/count"},
            "bytes": {"$ref": "#/$defs/count"},
            "tries": {"$ref": "#/$defs/count"},
            "limited_by": {"type": "string"}
          }
        },
        "status": {"enum": ["agrees", "disagrees", "refused", "failed"]},
        "reason": {"$ref": "#/$defs/text_or_null"}
      }
    },
    "calibration": {
      "description": "estimates that figures of a calibration replaced",
      "type": ["object", "null"],
      "required": ["file", "figures"],
      "properties": {
        "file": {"type": "string"},
        "figures": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["name", "what", "n", "low", "high", "mean", "source"],
            "properties": {
              "name": {"type": "string"},
              "what": {"description": "the line that it changed", "type": "string"},
              "n": {"$ref": "#/$defs/count"},
              "low": {"type": "number"},
              "high": {"type": "number"},
              "mean": {"type": "number"},
              "source": {"type": "string"}
            }
          }
        }
      }
    },
    "calibration_file": {
      "description": "what --save-calibration writes",
      "type": "object",
      "required": ["schema_version", "kvplan_version", "calibration"],
      "properties": {
        "schema_version": {"$ref": "#/$defs/schema_version"},
        "kvplan_version": {"type": "string"},
        "calibration": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["device", "device_memory_bytes", "driver", "engine", "engine_version", "model", "source", "date", "figures"],
            "properties": {
              "device": {"description": "as the driver or the catalogue names it", "type": "string"},
              "device_memory_bytes": {"$ref": "#/$defs/count_or_null"},
              "driver": {"$ref": "#/$defs/text_or_null"},
              "engine": {"type": "string"},
              "engine_version": {"$ref": "#/$defs/text_or_null"},
              "model": {"description": "the model and options that the figures hold for; null for figures of the card", "$ref": "#/$defs/text_or_null"},
              "source": {"enum": ["measure", "log"]},
              "date": {"description": "of the newest run", "type": "string"},
              "figures": {
                "type": "array",
                "items": {
                  "type": "object",
                  "required": ["name", "n", "low", "high", "mean"],
                  "properties": {
                    "name": {"type": "string"},
                    "n": {"description": "runs", "type": "integer", "minimum": 1},
                    "low": {"type": "number"},
                    "high": {"type": "number"},
                    "mean": {"type": "number"}
                  }
                }
              }
            }
          }
        }
      }
    },
)json";
}

}  // namespace kvplan
