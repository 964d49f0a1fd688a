"""Records live sessions: turns bytes and deltas into record events, and sends these to a sink.

Theory of operation. Who is recorded never waits: observers only append what they see, and one thread does the rest.

    observer       POST /v1/chat/completions, 200, and two pieces of the answer, each with its time
    event buffer   the same, in the order in which it happened over all exchanges; bounded: more is dropped and counted
    recorder       wire decodes the request (one user message) and the pieces ('<tool_call>{"na', 'me": "f"}')
    sessions       which trace continues (`SessionAssignment`): a new one, with one turn that it does not have yet
    redaction      replaces secrets by `*` of the same length
    record events  TraceStarted, TurnStarted(1, user), TurnEnded(1), TurnStarted(2, assistant),
                   ChunksArrived(2, two chunks), TurnEnded(2), and TraceEnded once the trace is idle or recording ends
    sink           a database (`StoreSink`), a trace file (`trace_file_sink`), or a package's own (`sinks`)

The ways in differ only in the observer: the proxy (`proxy`, whose recorder may run in a process of its own,
`recorder_process`), a client in the program (`client_recording`), and the logger, which is told texts instead of bytes
and makes the same events (`logged_turn`). `live_parser` parses an answer while it arrives, for who watches; what is
stored is only the record. `events` has the events and the protocol of a sink, `safeguards` and `open_traces` what keeps
an error of a sink or of a plug-in from ending a recording.
"""
