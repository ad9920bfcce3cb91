"""Listens to an agent's messages with httpx-sse, and prints the id of each as a line.

    listen.py ADDRESS KEY
"""
import json
import sys
import time

import httpx
from httpx_sse import SSEError, connect_sse


def main(address, key):
    headers = {"Authorization": "Bearer " + key, "X-Loci-Actor": "agent"}
    last = ""
    with httpx.Client(timeout=httpx.Timeout(5, read=60)) as client:
        while True:
            try:
                with connect_sse(client, "GET", address + "/v1/agent-messages/events",
                                 headers=headers | ({"Last-Event-ID": last} if last else {})) as source:
                    for event in source.iter_sse():
                        last = event.id or last
                        data = json.loads(event.data)
                        for message in data.get("unread", []) + ([data["message"]] if "message" in data else []):
                            print(message["id"], flush=True)
            except (httpx.HTTPError, SSEError):
                pass
            time.sleep(0.2)


main(*sys.argv[1:])
