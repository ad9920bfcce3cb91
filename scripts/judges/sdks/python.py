"""A client of Loci made of the official Python SDK, of either generation; scripts/judges/sdks.mjs runs it.

    python.py URL

Each line of the input is a word: the client lists the tools, stores the word, reads it, and prints a line of JSON. The
word "expired:..." tells that an hour has passed, which the client's clock shows it.
"""
import asyncio
import contextlib
import json
import os
import subprocess
import sys
from urllib.parse import parse_qs, urlparse

from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata

try:
    from mcp import Client  # 2.x
except ImportError:
    Client = None

CALLBACK = "http://127.0.0.1:33418/callback"
PERSON = [os.environ["LOCI_PERSON_NODE"], os.path.join(os.path.dirname(os.path.abspath(__file__)), "../person.mjs"), "--print"]


class Keep:
    """The storage of an application: tokens and the registered client."""

    tokens = client = None
    authorizations = 0
    answer = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info

    async def redirect(self, address):
        self.authorizations += 1
        done = await asyncio.to_thread(subprocess.run, PERSON + [address], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"the person could not answer: {done.stderr}")
        self.answer = {name: values[0] for name, values in parse_qs(urlparse(done.stdout.strip()).query).items()}

    async def callback(self):
        if Client is None:
            return self.answer["code"], self.answer["state"]
        from mcp.client.auth import AuthorizationCodeResult

        return AuthorizationCodeResult(code=self.answer["code"], state=self.answer["state"], iss=self.answer["iss"])


def provider(url, keep):
    metadata = OAuthClientMetadata(client_name="mcp for Python", redirect_uris=[CALLBACK], token_endpoint_auth_method="none",
                                   grant_types=["authorization_code", "refresh_token"], response_types=["code"])
    return OAuthClientProvider(url, metadata, keep, keep.redirect, keep.callback)


@contextlib.asynccontextmanager
async def connected(url, auth):
    """Yields a client that lists and calls tools."""
    if Client is None:
        from mcp.client.streamable_http import streamablehttp_client

        async with streamablehttp_client(url, auth=auth) as (read, write, _), ClientSession(read, write) as session:
            await session.initialize()
            yield session
    else:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        async with httpx2.AsyncClient(auth=auth) as http, Client(streamable_http_client(url, http_client=http)) as client:
            yield client


async def call(client, tool, arguments):
    result = await client.call_tool(tool, arguments)
    if getattr(result, "isError", False) or getattr(result, "is_error", False):
        sys.exit(f"{tool}: {result.content}")
    return json.loads(result.content[0].text)


async def main(url):
    keep = Keep()
    auth = provider(url, keep)
    async with connected(url, auth) as client:
        while word := (await asyncio.to_thread(sys.stdin.readline)).strip():
            if word.startswith("expired:"):
                auth.context.token_expiry_time = 1
            tools = (await client.list_tools()).tools
            made = await call(client, "memory_create", {"content": f"The SDK remembers {word.split(':')[-1]}."})
            memory = await call(client, "memory_get", {"memoryId": made["memory"]["id"]})
            print(json.dumps({"tools": len(tools), "content": memory["content"], "authorizations": keep.authorizations}), flush=True)


asyncio.run(main(sys.argv[1]))
