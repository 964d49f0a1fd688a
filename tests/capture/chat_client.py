"""A client of chat completions in the standard library, for agents that tests run as processes.

To import an SDK takes 0.7 to 1.6 s of CPU for each process (1 December 2026). Tests whose subject is an SDK, and the
journeys, use the SDK.
"""

CHAT_CLIENT = """
import http.client, json, os, sys, urllib.parse

def create(**request):
    base = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
    connection = http.client.HTTPConnection(base.netloc)
    body = json.dumps(request, separators=(",", ":"))
    headers = {"Content-Type": "application/json", "Authorization": "Bearer none"}
    connection.request("POST", base.path + "/chat/completions", body, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    if answer.status != 200:
        raise OSError(text)
    return json.loads(text)["choices"][0]["message"]
"""
"""Lines of Python that define `create(**request)`: the message that answers, OSError where none does."""
