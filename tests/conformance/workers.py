"""Processes in an engine's environment that each take a case at a time, as JSON lines; answers come in the order of the cases."""
import concurrent.futures
import hashlib
import json
import os
import subprocess
import threading

COUNT = int(os.environ.get("KVPLAN_WORKERS", "2"))


class Workers:
    """command is started COUNT times. kept is a folder: what is answered stays there, so that a run that was broken off
    goes on; same is all that an answer hangs on beside its case (the scripts, the packages)."""

    def __init__(self, command, kept=None, same=()):
        self.command, self.kept, self.same = ["nice", "-n", "5", *command], kept, same
        self.mine, self.all, self.lock = threading.local(), [], threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.all:
            process.stdin.close()
            process.wait()

    def each(self, jobs, asked=lambda job: job):
        """(job, answer) in the order of the jobs; those of which the same is asked are run once."""
        with concurrent.futures.ThreadPoolExecutor(COUNT) as threads:
            seen, waiting = {}, []
            for job in jobs:
                key = hashlib.sha256(json.dumps([asked(job), self.same], sort_keys=True).encode()).hexdigest()[:32]
                if key not in seen:
                    seen[key] = threads.submit(self.answer, key, job)
                waiting.append((job, seen[key]))
            try:
                for job, future in waiting:
                    yield job, future.result()
            finally:
                for _, future in waiting:
                    future.cancel()

    def answer(self, key, job):
        path = self.kept and os.path.join(self.kept, key + ".json")
        if path and os.path.exists(path):
            with open(path) as f:
                return json.load(f)
        answer = self.ask(job)
        if path:
            with open(path + ".part", "w") as f:
                json.dump(answer, f)
            os.replace(path + ".part", path)
        return answer

    def ask(self, job):
        if not hasattr(self.mine, "process"):
            self.mine.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            with self.lock:
                self.all.append(self.mine.process)
        process = self.mine.process
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if line:
            return json.loads(line)
        del self.mine.process  # the next case gets a new one
        status = process.wait()
        return {"not_run": f"its process ended by signal {-status}" if status < 0 else f"its process ended with {status}"}


def scripts(folder):
    """The text of the Python beside a harness: an answer that is kept holds for these scripts alone."""
    out = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py") and name != "harness.py":
            with open(os.path.join(folder, name)) as f:
                out.append(f.read())
    return out
