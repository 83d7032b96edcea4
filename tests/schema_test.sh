#!/bin/sh
# Validates every JSON that the tests produce against `kvplan schema`, with a validator that is independent of kvplan.
set -u
kvplan=$1
cd "$2" || exit 1
if ! python3 -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null; then
  echo "schema_test: SKIPPED: no python3-jsonschema (scripts/setup --dev installs it)" >&2
  exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

run() { # NAME ARGUMENTS...: a JSON report; 0 and 1 are answers
  name=$1
  shift
  "$kvplan" "$@" --format json -o "$work/$name.json"
  code=$?
  [ "$code" -le 1 ] || [ "$name" = fleet ] || [ "$name" = grid ] || { echo "kvplan $* ended with $code" >&2; exit 1; }
}
"$kvplan" schema >"$work/schema" || exit 1
llama=testdata/configs/llama-3.1-8b.json
run plan "$llama"
run card "$llama" --engine vllm --gpu h100-80gb -tp 2 --max-model-len 32k
run small "$llama" --gpu-memory 8GiB
for config in testdata/configs/*.json; do run "model-$(basename "$config" .json)" "$config" --num-seqs 2; done
run fleet testdata/configs testdata/bad/truncated.json
run compare compare "$llama" --gpu-memory 24GiB
run fit fit "$llama" --gpu-memory 24GiB --max-model-len 8k
run fit-none fit "$llama"
run grid testdata/configs testdata/bad/truncated.json --gpu rtx-4090,h100 --engine vllm,llama.cpp --cache-type-k q8_0 --cache-type-v q8_0
run fits fit "$llama" --engine vllm,mlx --gpu rtx-4090,m4-max
run fits-none fit "$llama" --engine vllm,mlx
run users fit "$llama" --engine vllm --gpu h100 --users 30 --avg-len 4k --price 2
run users-many fit "$llama" --engine vllm --gpu rtx-3060,h100 --gpu-count 2 --users 30 --avg-len 4k
run diff diff "$work/plan.json" "$work/card.json"
run same diff "$work/plan.json" "$work/plan.json"
# Filling all of a machine's memory would take long, and sanitizers need the addresses themselves.
limited() { (grep -q __asan_init "$kvplan" || ulimit -v 2000000; run "$@"); }
limited measured "$llama" --engine vllm --max-model-len 512 --measure --measure-max --device host --save-calibration "$work/kept.json" || exit 1
run calibrated "$llama" --gpu h100-80gb --calibration "$work/kept.json"
run gpus gpus
run models models
run pick pick --gpu rtx-3060 --host-memory 32GiB
run engines engines
run dtypes dtypes
run formulas formulas
cat >"$work/vllm.log" <<'LOG'
INFO 04-08 03:54:40 [gpu_model_runner.py:1338] Model loading took 14.9889 GiB and 5.7 seconds
INFO 04-08 03:54:46 [gpu_worker.py:227] Available KV cache memory: 16.17 GiB
INFO 04-08 03:54:46 [kv_cache_utils.py:578] GPU KV cache size: 132,464 tokens
LOG
run log check-log "$llama" "$work/vllm.log" --engine vllm

python3 - "$work/schema" "$work"/*.json testdata/golden/*.json <<'PYTHON'
import copy, json, sys
from jsonschema import Draft202012Validator

schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)

def closed(node):  # a copy that forbids keys which the schema does not name
    if isinstance(node, dict):
        out = {key: closed(value) for key, value in node.items()}
        if isinstance(node.get("properties"), dict) and "additionalProperties" not in node:
            out["additionalProperties"] = False
        return out
    return [closed(item) for item in node] if isinstance(node, list) else node

definitions = {"plans": "fleet", "answers": "answers", "changes": "diff", "rows": "grid", "fits": "fits", "remarks": "check_log",
               "gpus": "gpus", "models": "models", "picks": "pick", "engines": "engines", "dtypes": "dtypes", "kinds": "formulas"}
failed = 0
for path in sys.argv[2:]:
    report = json.load(open(path))
    kind = next((name for key, name in definitions.items() if key in report), "plan")
    if isinstance(report.get("calibration"), list):
        kind = "calibration_file"
    strict = closed({"$ref": "#/$defs/" + kind, "$defs": schema["$defs"]})
    for error in list(Draft202012Validator(schema).iter_errors(report))[:1] or list(
            Draft202012Validator(strict).iter_errors(report))[:5]:
        failed += 1
        print(f"{path}: {error.json_path}: {error.message[:300]}", file=sys.stderr)
# The validation must be able to fail.
plan = json.load(open(next(p for p in sys.argv[2:] if p.endswith("/plan.json"))))
for path, wrong in ((("total", "bytes"), -1), (("verdict", "status"), "perhaps"), (("capacity",), 3), (("schema_version",), 2),
                    (("request", "num_seqs"), 0), (("model", "attention"), "none of them"), (("model", "layers", 0, "kind"), "new"),
                    (("model", "config", 0, "origin"), None), (("memory",), []), (("memory", 0, "lines", 0, "basis"), ""),
                    (("model", "layers", 0, "indices"), "all"), (("host_memory",), [])):
    broken = copy.deepcopy(plan)
    at = broken
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = wrong
    if Draft202012Validator(schema).is_valid(broken):
        failed += 1
        print(f"the schema accepts {path} = {wrong}", file=sys.stderr)
    del at[path[-1]]
    if Draft202012Validator(schema).is_valid(broken):
        failed += 1
        print(f"the schema accepts a plan without {path}", file=sys.stderr)
print(f"{len(sys.argv) - 2} reports, {failed} errors")
sys.exit(1 if failed else 0)
PYTHON
