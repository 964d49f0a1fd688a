"""The steps of a trace: which result answers which call, the outcome of each call, and where the chain broke.

Theory of operation. A trace passes these stages, in this order; each has its theory in its module:

    user    Delete the old branch.
    call 1  Bash {"command": "git branch -d old"}   ->   error: The branch 'old' is not fully merged.
    call 2  Bash {"command": "git branch -D old"}   ->   Deleted branch old (was 1a2b3c4).
    agent   The branch is deleted.

1. `pairing`: the result of each call, by its id or else by name and order. Two pairs.
2. `outcomes`: what each call came to. Step 1 `error-result`, certainty `textual`, since only words say so; step 2 `ok`.
3. `result_kinds`: what kind of error result it is, by the effect that the call was to have (`effects`). A `failure`.
   The words of programs and tools are in `result_words`, `check_results`, `negative_answers`, `refusals` and
   `refused_changes`.
4. `data_flow`: the steps whose results gave a step its arguments (`depends_on`). None.
5. `recovery`: what became of each failed step. `same-intent`, recovered by step 2: the same effect on the same target.
6. `statements`: what the agent said of it. `silent`: it does not mention the first attempt.
7. `analysis`: the break is the first failed step without a recovery. There is none, and the status is `recovered`.

`plain_chain` judges a trace in which nothing can have failed, without the analysis of failures. Every decision names
its rule (`verdict_rules`). `faults` and `layers` report what is wrong on the way as diagnostics, `metrics` counts it
over many traces, and `alignment` compares the steps of several runs.
"""
