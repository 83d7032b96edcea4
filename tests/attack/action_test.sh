#!/bin/sh
# The GitHub action with a hostile checkout and unusual inputs: it runs nothing from the checkout and drops no option.
set -u
kvplan=$1
source=$2
for tool in bash git xargs python3; do
  command -v $tool >/dev/null 2>&1 || { echo "action_test: SKIPPED: no $tool" >&2; exit 0; }
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
wrong() { echo "action_test: $*" >&2; failed=1; }
mkdir "$work/repo" "$work/temp" "$work/bin"
cd "$work/repo" || exit 1
git init -q .
cp "$source/testdata/configs/llama-3.1-8b.json" model.json

# --- the install step --- The checkout contains every module that Python could import when it starts.
mkdir venv pip ensurepip kvplan
for module in venv/__init__ venv/__main__ pip/__init__ pip/__main__ ensurepip/__init__ kvplan/__init__ sitecustomize usercustomize \
  runpy logging shutil subprocess os io json re types typing pathlib importlib codecs encodings tempfile zipfile; do
  echo "open('$work/PWNED', 'a').write('$module ')" >"$module.py"
done
install() { # WANTED PACKAGE
  rm -rf "$work/temp/kvplan"
  PACKAGE=$2 RUNNER_TEMP=$work/temp bash "$source/packaging/action/install" >"$work/out" 2>&1
  code=$?
  case $1 in
    ok) [ $code -eq 0 ] || { wrong "install ended with $code"; cat "$work/out" >&2; } ;;
    no) [ $code -ne 0 ] || wrong "install took $2" ;;
  esac
  [ ! -e "$work/PWNED" ] || wrong "the checkout's modules ran: $(cat "$work/PWNED")"
}
install no kvplan
install no "kvplan==0.2.0"
install no "https://example.org/kvplan.whl"
install no "-r x.whl#sha256=$(printf %064d 0)"
if (cd / && python3 -c 'import tomllib, ensurepip, venv') 2>/dev/null; then
  wheel=$(cd / && "$source/packaging/pack_wheel.py" "$kvplan" "linux_$(uname -m)" "$work/wheel") || exit 1
  sum=$(sha256sum "$wheel" | cut -d ' ' -f 1)
  install no "$wheel"
  install no "$wheel#sha256=$(printf %064d 0)"
  cp "$wheel" .
  install ok "$(basename "$wheel")#sha256=$sum"
  [ -x "$work/temp/kvplan/bin/kvplan" ] || wrong "no program was installed"
fi
rm -rf -- *.py *.whl venv pip ensurepip kvplan

# --- options, and what is planned ---
cat >"$work/bin/kvplan" <<END
#!/bin/sh
for word; do printf '<%s>' "\$word"; done >>"$work/calls"
echo >>"$work/calls"
exec "$kvplan" "\$@"
END
chmod +x "$work/bin/kvplan"
export PATH="$work/bin:$PATH" RUNNER_TEMP="$work/temp" GITHUB_STEP_SUMMARY="$work/summary" MODEL=model.json MAX_VRAM= BASE= FAIL_OVER= PULL_REQUEST= GH_TOKEN=x
newline='
'
plan() { # WANTED OPTIONS [WORDS]: the exit code, and what every plan is asked with
  rm -f "$work/calls"
  OPTIONS=$2 bash "$source/packaging/action/plan" >"$work/out" 2>"$work/err"
  code=$?
  [ $code -eq "$1" ] || { wrong "options $2 of $MODEL ended with $code, not $1"; cat "$work/out" "$work/err" >&2; }
  [ -z "${3-}" ] || [ "$(grep -c -F -e "$3" "$work/calls")" -eq "$(grep -c . "$work/calls")" ] || { wrong "options $2 became"; cat "$work/calls" >&2; }
}
all='<--engine><vllm><--gpu><h100-80gb><-tp><2>'
plan 0 "--engine vllm --gpu h100-80gb -tp 2" "$all"
plan 0 "--engine vllm$newline--gpu h100-80gb$newline${newline}-tp 2$newline" "$all"
plan 0 "--engine vllm \\$newline  --gpu h100-80gb \\$newline  -tp 2" "$all"
plan 0 "$(printf -- '--engine vllm\r\n--gpu\th100-80gb\r\n-tp 2\r\n')" "$all"
plan 0 "--engine 'vllm' --gpu \"h100-80gb\" -tp 2" "$all"
plan 0 "--engine llama.cpp --override-tensor 'exps=CPU'" "<--override-tensor><exps=CPU>"
plan 0 "$newline $newline" "<plan><model.json><--"
plan 1 "--engine vllm$newline--gpu rtx-3060" "<--gpu><rtx-3060>"
plan 2 "--engine vllm --gpu 'h100-80gb"
plan 2 "--engine vllm${newline}--no-such-option"
plan 2 "--engine vllm${newline}--gpu no-such-gpu"
plan 2 "vllm"
plan 2 "--engine vllm; touch $work/PWNED"
plan 2 "\$(touch $work/PWNED) \`touch $work/PWNED\`"
for ending in --help -h --version "-- x" --; do plan 2 "--engine vllm $ending"; done
MAX_VRAM=8GiB plan 1 "-o $work/elsewhere --format csv"
MAX_VRAM="8GiB --help" plan 2 ""
FAIL_OVER=5% plan 0 ""
grep -q '^::warning.*fail-over' "$work/out" || wrong "fail-over without base is not mentioned"
for base in --help "--output=$work/PWNED" "HEAD; touch $work/PWNED"; do BASE=$base plan 2 ""; done

# --- the model's name and its links, which a pull request chooses ---
printf '{"model_type":"llama","hidden_size":"SECRET-4711"}' >"$work/secret.json"
printf 'TOKEN=SECRET-4711\n' >"$work/secret.txt"
refused() { # NAME
  MODEL=$1 plan 2 ""
  if grep -q SECRET "$work/out" "$work/err"; then wrong "$1: the secret is printed"; fi
}
ln -s ../secret.json link.json && refused link.json && rm link.json
ln -s ../secret.txt link.json && refused link.json && rm link.json
ln -s ../secret.json hf_quant_config.json && refused model.json && rm hf_quant_config.json
ln -s .. up && refused up/secret.json && rm up
refused ../secret.json
refused "$work/secret.json"
refused .git/config
refused nowhere.json
refused ""
printf 'API=SECRET-4711\na/b\n' >list.txt
cp list.txt ./@list.txt
for name in list.txt @list.txt ./@list.txt; do refused $name; done
for name in gpus explain -h --help=x.json "::error::x" "a b.json"; do
  cp model.json "./$name"
  MODEL=$name plan 0 "" "<plan>"
  if grep -q '^::error' "$work/out"; then wrong "$name became a command of the workflow"; fi
done
[ ! -e "$work/PWNED" ] || wrong "an input was run"
exit $failed
