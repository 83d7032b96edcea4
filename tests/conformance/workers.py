"""Processes in an engine's environment that each run one case at a time, as JSON lines (isolated.py answers them)."""
import hashlib
import json
import os
import queue
import subprocess
import threading

import common

COUNT = int(os.environ.get("KVPLAN_WORKERS", "2"))
SAMPLE = 20  # of so many cases one runs again in other company, and must say the same


class Answers:
    """Earlier answers, so that an interrupted run continues where it stopped. An answer is valid as long as the scripts that its case used have
    not changed."""

    def __init__(self, path):
        self.path, self.lock, self.known, self.sums = path, threading.Lock(), {}, {}
        if path and os.path.exists(path):
            for line in common.read_rows(path):
                if all(self.sum_of(name) == text for name, text in line["scripts"].items()):
                    self.known[line["key"]] = line["answer"]

    def sum_of(self, script):
        if script not in self.sums:
            path = os.path.join(common.ADAPTERS, script)
            self.sums[script] = hashlib.sha256(open(path, "rb").read()).hexdigest()[:16] if os.path.exists(path) else ""
        return self.sums[script]

    def put(self, key, answer, scripts=()):
        with self.lock:
            self.known[key] = answer
            if self.path:
                with open(self.path, "a") as f:
                    f.write(json.dumps({"key": key, "answer": answer, "scripts": {name: self.sum_of(name) for name in scripts}}) + "\n")

    def forget(self):
        if self.path and os.path.exists(self.path):
            os.remove(self.path)


class Process:
    """A worker of one group."""

    def __init__(self, command, environment, log):
        self.log = open(log, "a") if log else None
        self.process = subprocess.Popen(["nice", "-n", "5", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        text=True, env=environment)

    def ask(self, case):
        """The worker's answer; {"died": signal} if the worker, or the fork for this case, was killed."""
        try:
            self.process.stdin.write(json.dumps(case) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        status = self.process.wait()
        return {"died": -status, "worker": True} if status < 0 else {"ended": status}

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        if self.log:
            self.log.close()


class Workers:
    """command(group) starts a worker for the cases of that group. `same` has the versions of the packages: everything besides the case and the
    scripts that an answer depends on."""

    def __init__(self, command, answers, same=(), environment=None, logs=None):
        self.command, self.answers, self.same, self.environment, self.logs = command, answers, same, environment, logs
        self.progress = None

    def each(self, jobs, asked=lambda job: job, sent=None, group=lambda job: "", name=lambda job: ""):
        """Yields (job, answer) in the order of the jobs. Equal jobs run once. `sent` is what the worker receives, if that includes things that the
        answer does not depend on (folders)."""
        jobs = list(jobs)
        keys = [self.key(asked(job), group(job)) for job in jobs]
        todo = {}
        for key, job in zip(keys, jobs):
            todo.setdefault(key, (group(job), (sent or asked)(job), name(job)))
        open_cases = {key: case for key, case in todo.items() if key not in self.answers.known}
        again = [key for key in todo if int(key, 16) % SAMPLE == 0]
        self.progress = common.Progress(len(open_cases) + (len(again) if open_cases else 0))
        alone = self.run(open_cases)
        self.run_alone({key: todo[key] for key in alone})
        if open_cases:
            self.compare(list(reversed([(key, todo[key]) for key in again])))
        for job, key in zip(jobs, keys):
            yield job, self.answers.known[key]

    def key(self, asked, group):
        return hashlib.sha256(json.dumps([asked, str(group), self.same], sort_keys=True).encode()).hexdigest()[:16]

    def run(self, cases):
        """Answers the cases, group by group. Returns the keys of the cases whose process was killed, which says nothing about them yet."""
        groups = {}
        for key, (group, case, name) in cases.items():
            groups.setdefault(str(group), (group, queue.Queue()))[1].put((key, case, name))
        waiting, died, failures = list(groups.values()), [], []
        threads = [threading.Thread(target=self.work, args=(waiting, died, failures, number)) for number in range(COUNT)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return died

    def work(self, groups, died, failures, number):
        try:
            self.work_through(groups, died, failures, number)
        except Exception as error:
            failures.append(error)

    def work_through(self, groups, died, failures, number):
        for group, cases in groups:
            process = None
            while not failures:
                try:
                    key, case, name = cases.get_nowait()
                except queue.Empty:
                    break
                fresh = process is None
                process = process or self.start(group, number)
                said = process.ask(case)
                if "answer" in said:
                    self.answers.put(key, said["answer"], said["scripts"])
                elif "ended" in said and fresh:
                    failures.append(common.Failure(f"a worker ended at its start with {said['ended']}; see {self.logs}"))
                elif "not_run" in said:
                    self.answers.put(key, {"not_run": said["not_run"]})
                else:
                    died.append(key)
                if "ended" in said or "worker" in said:
                    process = None
                self.progress.next(name)
            if process:
                process.close()

    def start(self, group, number):
        return Process(self.command(group), self.environment, self.logs and os.path.join(self.logs, f"worker-{number}.txt"))

    def run_alone(self, cases):
        """Runs cases whose process was killed one at a time, because the machine may have lacked memory for several."""
        for key, (group, case, name) in cases.items():
            process = self.start(group, "alone")
            said = process.ask(case)
            why = f"its process ended by signal {said['died']}" if "died" in said else f"its process ended with {said.get('ended')}"
            self.answers.put(key, said.get("answer", {"not_run": said.get("not_run", why)}), said.get("scripts", ()))
            process.close()

    def compare(self, cases):
        """Runs cases again after other cases than before. If an answer changes, another case affected it."""
        processes = {}
        for key, (group, case, name) in cases:
            process = processes.setdefault(str(group), None) or self.start(group, "again")
            processes[str(group)] = process
            said = process.ask(case)
            self.progress.next(name)
            before = json.dumps(self.answers.known[key], default=str)
            if "answer" in said and json.dumps(said["answer"], default=str) != before:
                raise common.Failure(f"{name} answers otherwise in other company:\n{before[:2000]}\n{json.dumps(said['answer'])[:2000]}")
            if "answer" not in said:
                processes[str(group)] = None
        for process in filter(None, processes.values()):
            process.close()
