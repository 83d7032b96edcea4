"""Other ways to ask the program: the Python package, the MCP server, the web page's module."""
import json
import os
import subprocess

PACKAGE = """
import json, sys, kvplan
def ask(question):
    try:
        return kvplan.plan(question["model"], **question["options"])
    except kvplan.KvplanError as error:
        return {"error": error.line, "exit": error.exit_code}
json.dump([ask(question) for question in json.load(sys.stdin)], sys.stdout)
"""


class Skipped(Exception):
    """One of these ways is not available on this machine."""


def environment(program, source):
    """An environment in which `kvplan` is the tested program, and the package is that of the source folder."""
    folder = program.home + "/bin"
    if not os.path.exists(folder):
        os.makedirs(folder)
        os.symlink(program.path, folder + "/kvplan")
    return {**program.environment, "PATH": folder + ":" + os.environ["PATH"], "PYTHONPATH": source + "/packaging/python",
            "PYTHONDONTWRITEBYTECODE": "1"}


def package(program, source, python, questions):
    """What kvplan.plan() answers to each question, {"model", "options"}."""
    done = subprocess.run([python, "-c", PACKAGE], input=json.dumps(questions), capture_output=True, encoding="utf-8", check=False,
                          env=environment(program, source), timeout=300)
    if done.returncode != 0:
        raise Skipped("the Python package: " + (done.stderr.strip().splitlines() or ["no answer"])[-1])
    return json.loads(done.stdout)


def mcp(program, source, python, questions):
    """What the tool `plan` of the MCP server answers, over standard input and output."""
    calls = [{"method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                                                 "clientInfo": {"name": "sweep", "version": "1"}}}]
    calls += [{"method": "tools/call", "params": {"name": "plan", "arguments": {"model": question["model"], "detail": "full", **question["options"]}}}
              for question in questions]
    given = {**environment(program, source), "PYTHONPATH": ""}  # the server asks for its installed version
    words = [python, "-m", "kvplan.mcp", "--root", os.path.abspath(source), "--root", "/"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          env=given) as server:
        replies = {}
        try:
            for number, call in enumerate(calls):
                server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, **call}) + "\n")
                if number == 0:
                    server.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")
                server.stdin.flush()
                while number not in replies:
                    line = server.stdout.readline()
                    if not line:
                        raise BrokenPipeError
                    reply = json.loads(line)
                    replies[reply.get("id")] = reply.get("result", {})
        except BrokenPipeError:
            raise Skipped("MCP: " + (server.stderr.read().strip().splitlines() or ["no answer"])[-1]) from None
        finally:
            server.stdin.close()
        server.wait(30)
    return [replies[number].get("structuredContent") or {"error": replies[number]["content"][0]["text"], "exit": 2}
            for number in range(1, len(calls))]


def page(program, source, questions):
    """What the page's module answers under Node to {"files": {name: text}, "words"}."""
    module = source + "/build-web/kvplan.js"
    if not os.path.exists(module):
        raise Skipped("the page: no build-web/kvplan.js (packaging/web/build)")
    if os.path.getmtime(module) < os.path.getmtime(program.path):
        raise Skipped("the page: build-web/kvplan.js is older than the program (packaging/web/build)")
    try:
        done = subprocess.run(["node", os.path.join(os.path.dirname(__file__), "page.mjs"), source], input=json.dumps(questions),
                              capture_output=True, encoding="utf-8", check=False, timeout=300)
    except FileNotFoundError:
        raise Skipped("the page: no node") from None
    if done.returncode != 0:
        raise Skipped("the page: " + done.stderr.strip()[-200:])
    return [json.loads(reply["out"]) if reply["out"] else {"error": reply["err"], "exit": reply["exit"]} for reply in json.loads(done.stdout)]
