#!/bin/sh
# Manifests of --format k8s against the published schemas.
set -u
command -v python3 >/dev/null || { echo "kubernetes_test: SKIPPED: no python3" >&2; exit 0; }
exec python3 "$2/tests/cli/kubernetes.py" "$1" "$2"
