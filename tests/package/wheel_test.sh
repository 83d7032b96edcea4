#!/bin/sh
# A wheel of the built program, tested with what every Python has: its list of files is right, the same commit gives the
# same bytes, and the package in it calls the program. packaging/python/test runs the package's own tests, which need
# PyPI.
set -u
kvplan=$1
source=$2
if ! python3 -c 'import tomllib' 2>/dev/null; then
  echo "wheel_test: SKIPPED: no python3 of 3.11 or newer" >&2
  exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
wrong() { echo "wheel_test: $*" >&2; failed=1; }

SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH
wheel=$("$source/packaging/pack_wheel.py" "$kvplan" linux_x86_64 "$work/one") || exit 1
again=$("$source/packaging/pack_wheel.py" "$kvplan" linux_x86_64 "$work/two") || exit 1
cmp "$wheel" "$again" || wrong "the same sources give other bytes"
python3 - "$wheel" "$work/lib" <<'END' || wrong "the wheel's list of files is not true"
import base64, csv, hashlib, io, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    names = wheel.namelist()
    record = next(name for name in names if name.endswith("/RECORD"))
    rows = list(csv.reader(io.StringIO(wheel.read(record).decode())))
    assert [row[0] for row in rows] == names, "files that are not listed"
    for name, digest, size in rows:
        if name == record:
            continue
        data = wheel.read(name)
        assert len(data) == int(size), name
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), name
    for name in ("kvplan/__init__.py", "kvplan/mcp.py", "kvplan/py.typed", "kvplan/verify.py", "kvplan/adapters/ask.py",
                 "kvplan/adapters/vllm/single.py"):
        assert name in names, name
    wheel.extractall(sys.argv[2])
END

mkdir "$work/bin" && ln -s "$kvplan" "$work/bin/kvplan"
cd "$work" && PATH="$work/bin:$PATH" PYTHONPATH="$work/lib" python3 - "$source/testdata/configs/deepseek-v3.json" <<'END' || wrong "the package does not answer"
import json, sys
import kvplan
model = sys.argv[1]
# (512 + 64) x 2 bytes x 61 layers a token.
assert kvplan.plan(model)["kv_cache"]["bytes_per_token"] == 576 * 2 * 61
with open(model) as file:
    assert kvplan.plan(json.load(file), gpu_memory="24GiB")["verdict"]["status"] == "does_not_fit"
try:
    kvplan.plan("none.json")
    raise SystemExit("no error")
except kvplan.KvplanError as error:
    assert error.exit_code == 2 and error.line.startswith("kvplan: none.json: "), error
END
exit $failed
