#!/bin/sh
# What the sources of the web page must not contain. page_links_test.py tests the built page.
set -u
web=$2/packaging/web
failed=0
wrong() { echo "page_test: $*" >&2; failed=1; }
for page in "$web/page.html" "$web/models.html"; do
  policy=$(sed -n 's/.*http-equiv="Content-Security-Policy" content="\([^"]*\)".*/\1/p' "$page")
  [ -n "$policy" ] || wrong "$page has no policy"
  case $policy in *"'unsafe-"* | *http:*) wrong "$page: $policy" ;; esac
  case $policy in "default-src 'none';"*) ;; *) wrong "$page allows what it does not name" ;; esac
  grep -n -e ' style=' -e ' on[a-z]*=' "$page" && wrong "$page has styles or handlers in its elements, which the policy refuses"
done
sed -n 's/.*script-src \([^;]*\);.*/\1/p' "$web/page.html" | grep -qx "'@PAGE_JS_HASH@' 'wasm-unsafe-eval'" || wrong "page.html allows other scripts than its own"
grep -n -E 'innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|setHTML|document\.write|eval\(|new Function|importScripts|srcdoc' \
  "$web/page.js" "$web/worker.js" "$web/sw.js" && wrong "a text can become markup or script"
[ "$(grep -c parseFromString "$web/page.js")" -eq 1 ] || wrong "page.js parses markup in more than one place"
grep -q 'rebuilt(new DOMParser()' "$web/page.js" || wrong "page.js does not rebuild what it parses"
exit $failed
