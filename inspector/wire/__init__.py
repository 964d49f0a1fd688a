r"""What clients and servers send, decoded: SSE, NDJSON, and the providers' requests, streams and message shapes.

Theory of operation. An answer passes three stages, each fed as the bytes come, each the same however they are cut:

    bytes          data: {"id":"c1","choices":[{"delta":{"content":"Hi"}}]}\n\nda
                   ta: {"id":"c1","choices":[{"delta":{},"finish_reason":"stop"}]}\n\n
    framing        ServerSentEvent(data='{"id":"c1", ... "Hi" ...}'), and the next one with the second piece
    reader         FactsLearned(response_id='c1'), PartGrew('text', 'Hi'); then FactsLearned(finish_reason='stop')
    assembly       a turn with the part `text` and its generation (`TurnAssembly`)

`framing` knows nothing of providers; the raw texts of its events add up to the stream. The reader of an API
(`weaklink.inspector.apis`) knows nothing of framing: JSON objects in, wire events out (`events`). `decoder` joins both,
and chooses them by the path, the headers, the request, or else by the first bytes and the first object; until then it
holds what came. Nothing here raises for any bytes: what cannot be read is kept word for word in the part `wire:unread`,
and what is wrong is a fault.
"""
