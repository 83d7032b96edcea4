#include "report/diff_schema.h"

namespace kvplan {

std::string_view diff_schema() {
  return R"json(    "diff": {
      "description": "kvplan diff OLD.json NEW.json",
      "type": "object",
      "required": ["schema_version", "kvplan_version", "headline", "total", "memory", "changes"],
      "properties": {
        "schema_version": {"$ref": "#/$defs/schema_version"},
        "kvplan_version": {"type": "string"},
        "headline": {"description": "one sentence for a reviewer", "type": "string"},
        "total": {
          "type": "object",
          "required": ["before_bytes", "after_bytes", "change_bytes"],
          "properties": {
            "before_bytes": {"$ref": "#/$defs/count"},
            "after_bytes": {"$ref": "#/$defs/count"},
            "change_bytes": {"type": "integer"}
          }
        },
        "memory": {
          "description": "parts that changed, biggest first",
          "type": "array",
          "items": {
            "type": "object",
            "required": ["part", "before_bytes", "after_bytes", "change_bytes"],
            "properties": {
              "part": {"type": "string"},
              "before_bytes": {"$ref": "#/$defs/count"},
              "after_bytes": {"$ref": "#/$defs/count"},
              "change_bytes": {"type": "integer"}
            }
          }
        },
        "capacity": {
          "description": "what the card holds, where that changed",
          "type": "array",
          "items": {
            "type": "object",
            "required": ["what", "before", "after"],
            "properties": {
              "what": {"enum": ["tokens", "max_model_len", "max_num_seqs"]},
              "before": {"$ref": "#/$defs/count_or_null"},
              "after": {"$ref": "#/$defs/count_or_null"}
            }
          }
        },
        "verdict": {
          "type": "object",
          "required": ["before", "after"],
          "properties": {"before": {"$ref": "#/$defs/text_or_null"}, "after": {"$ref": "#/$defs/text_or_null"}}
        },
        "limit": {
          "description": "--fail-over, and whether the total grew by more",
          "type": "object",
          "required": ["bytes", "percent", "exceeded"],
          "properties": {
            "bytes": {"$ref": "#/$defs/count_or_null"},
            "percent": {"type": ["number", "null"], "minimum": 0},
            "exceeded": {"type": "boolean"}
          }
        },
        "changes": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["where", "key", "before", "after"],
            "properties": {
              "where": {"enum": ["config", "request"]},
              "key": {"type": "string"},
              "before": {"$ref": "#/$defs/text_or_null"},
              "after": {"$ref": "#/$defs/text_or_null"}
            }
          }
        }
      }
    },
)json";
}

}  // namespace kvplan
