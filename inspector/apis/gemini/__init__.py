"""OpenAI's APIs, which many servers share: chat completions, completions and Responses."""
