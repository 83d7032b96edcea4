#!/bin/sh
# Ctrl-C during a measurement: kvplan frees everything and prints no report, and the shell sees the signal.
set -u
kvplan=$1
cd "$2" || exit 1
if [ -z "${KVPLAN_FAKE_GPU-}" ]; then
  echo "interrupt_test: KVPLAN_FAKE_GPU names no driver" >&2
  exit 1
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export KVPLAN_LIBCUDA="$KVPLAN_FAKE_GPU" KVPLAN_NVML="$KVPLAN_FAKE_GPU"
export KVPLAN_FAKE_GPUS="a card=81090" KVPLAN_FAKE_SLOW=20 KVPLAN_FAKE_LOG="$work/log"

failed=0
for signal in INT TERM HUP; do
  # A busy machine may need more than a second to reach the first buffer.
  for seconds in 1 3 9; do
    rm -f "$work/log"
    timeout --preserve-status -s $signal $seconds "$kvplan" testdata/configs/llama-3.1-8b.json --max-model-len 128k --num-seqs 4 \
      --measure --save-calibration "$work/calibration.json" >"$work/out" 2>"$work/err"
    code=$?
    [ ! -e "$work/log" ] || break
  done
  case "$signal $code" in
    "INT 130" | "TERM 143" | "HUP 129") ;;
    *) echo "interrupt_test: $signal ended with $code" >&2; failed=1 ;;
  esac
  grep -q "interrupted; everything that was allocated is freed" "$work/err" || { cat "$work/err" >&2; failed=1; }
  [ ! -s "$work/out" ] || { echo "interrupt_test: $signal left something on standard output" >&2; failed=1; }
  grep -q "^context released, 0 buffers live" "$work/log" || { cat "$work/log" >&2; failed=1; }
  [ ! -e "$work/calibration.json" ] || { echo "interrupt_test: $signal saved a calibration" >&2; failed=1; }
done
exit $failed
