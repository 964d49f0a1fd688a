"""What servers send, decoded: SSE, NDJSON and the providers' stream and message shapes."""
