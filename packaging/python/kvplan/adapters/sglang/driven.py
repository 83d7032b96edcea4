"""Counts the requests that a release's own scheduler runs at once in pools of a given size.

The pools, allocators, prefix tree, SchedulePolicy, PrefillAdder, ScheduleBatch and the processing of results are the
release's own. K, V and states are on the meta device, tables of indices in memory. Instead of a worker, a substitute answers
with the token 7 at every step. All requests wait together (of those that share a prefix, the first one starts earlier). The
count is of the requests that run when the first answer is complete, so that every request has its full length.
"""
import torch

K = 1024
ANSWER = 64
ASKED = {"8k": [8 * K], "32k": [32 * K], "mix": [2 * K, 32 * K], "shared": [32 * K]}
SHARED = {"shared": 16 * K}  # tokens that all begin with


class InTorch:
    """Replaces a Triton kernel, which is called as kernel[grid](arguments)."""

    def __init__(self, function):
        self.function = function

    def __getitem__(self, grid):
        return self.function


def decode(seq_lens, last_loc, free_pages, out, _, page_size):
    """As in allocator_npu.py: the next slot of the page, or the first of a new page."""
    fresh = (seq_lens % page_size == 1).int()
    first = torch.cumsum(fresh, 0) - fresh
    pages = free_pages[first.clamp(max=len(free_pages) - 1)]
    out.copy_((last_loc + 1) * (1 - fresh) + pages * page_size * fresh)


class TooLong(Exception):
    """Raised for a request that the model or the pool has no room for."""


class Ignores:
    """Accepts any call and does nothing. Replaces metrics, output streams and publishers."""

    def __init__(self, **values):
        self.__dict__.update(values)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


class Driven:
    """A Scheduler without a GPU. The release's file sets `it` (with the attributes that the scheduler's constructor would set), `tokens` (makes a
    prompt from numbers) and `step` (one iteration of the scheduler's loop)."""

    def add(self, name, prompt):
        from sglang.srt.managers.schedule_batch import Req
        from sglang.srt.managers.utils import validate_input_length
        from sglang.srt.sampling.sampling_params import SamplingParams

        params = SamplingParams(max_new_tokens=ANSWER, ignore_eos=True)
        params.normalize(None)
        request = Req(name, "", self.tokens(prompt), params, vocab_size=self.it.model_config.vocab_size)
        self.it.init_req_max_new_tokens(request)
        cut = ANSWER - request.sampling_params.max_new_tokens
        if cut > 2 or validate_input_length(request, self.it.max_req_input_len, False):  # its own bound is two short
            raise TooLong
        self.it._add_request_to_queue(request)
        return request

    def at_once(self, lengths, shared):
        it, requests = self.it, []

        def ask():
            n, length = len(requests), lengths[len(requests) % len(lengths)]
            requests.append(self.add(str(n), [1] * shared + [n + 2] * (length - ANSWER - shared)))

        ask()
        while shared and not requests[0].output_ids:
            self.step()
        for _ in range(self.enough(lengths)):
            ask()
        idle = 0
        while not any(request.finished() for request in requests):
            idle = 0 if self.step() else idle + 1
            if idle > 2:  # nothing runs, and no result is on its way that could free something: it waits for ever
                raise TooLong
        # The scheduler takes a request out of its batch before the last result has arrived.
        running = {*it.running_batch.reqs, *(request for request in requests if request.finished())}
        return len(running), any(request.retracted_stain for request in requests)

    def enough(self, lengths):
        """A number of requests that cannot all run: each takes at least half of its length, but some keep only a window."""
        it = self.it
        tokens = it.full_tokens_per_layer or it.max_total_num_tokens
        return min(it.max_running_requests, 2 * tokens * len(lengths) // sum(lengths) + 8) + 8

    def answer(self, name):
        """How many run at once, and whether one was sent back to the queue; None if no request fits at full length."""
        try:
            count, retracted = self.at_once(ASKED[name], SHARED.get(name, 0))
        except TooLong:
            count, retracted = None, False
        return {"count": count, "retracted": retracted}
