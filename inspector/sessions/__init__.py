r"""Decides which requests belong to one session: requests and answers in, the turns of traces out.

Theory of operation. Clients send the whole conversation with every request, and most send no id of it. So a request is
compared by digests of its messages with what the traces so far ended with:

    request 1       system, "Oslo?"                                begins trace 1 with 2 turns; its answer is turn 3
    answer 1        "Rain."                                        the trace now ends with system, "Oslo?", "Rain."
    request 2       system, "Oslo?", "Rain.", "Bergen?"            continues trace 1; only "Bergen?" is a new turn
    the same again  system, "Oslo?", "Rain.", "Bergen?"            repeats it: attempt 2, and no new turn
    request 3       system, "Oslo?", "Rain.", "Paris?"             begins trace 2, a fork of trace 1

Some agents add all that happens to the text of their only message, as LangChain's ReAct does (`{agent_scratchpad}`).
There the digests of the text before the answer, of the answer, and of the text behind it are compared:

    request 1       "Oslo?\nThought:"                              begins trace 3
    answer 1        " I look."                                     is its turn 2
    request 2       "Oslo?\nThought: I look.\nObservation: 4"      continues trace 3 with turn 3, "\nObservation: 4"

`fingerprints` makes the digests, which ignore what clients change when they send an answer back (reasoning, outer white
space, how arguments are spelled). `trace_matching` finds the trace (`SessionMatch`): by the session's id, else within
the same client and system prompt, by the longest known beginning, then by the last messages. `resolver` makes of that a
`SessionAssignment`: the key of the trace, the turns that it does not have yet, and the facts of a trace that begins.
`session_cache` holds the digests of a bounded number of traces and never a text. Live recordings and imported logs use
the same resolver (`gathering` puts the exchanges of a file in the order of their times first).
"""
