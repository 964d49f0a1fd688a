"""What clients and servers send, decoded: SSE, NDJSON, and the providers' requests, streams and message shapes."""
