"""Calls 30 operations by a client of openapi-python-client, and prints how many; scripts/judges/generated.mjs runs it.

    calls.py URL KEY     (the client is on PYTHONPATH)
"""
import importlib
import sys

from loci_client import AuthenticatedClient, models
from loci_client.models import Error

URL, KEY = sys.argv[1:]
CLIENT = AuthenticatedClient(base_url=URL, token=KEY)
called = set()


def call(name, *path, body=None, **query):
    """Calls an operation and returns its parsed answer, which must have the type that the document gives its status."""
    resource = name.split(".")[0]
    module = importlib.import_module(f"loci_client.api.{resource}.{name.replace('.', '_')}")
    pascal = "".join(word.capitalize() for word in name.split("."))
    if body is not None:
        query["body"] = getattr(models, pascal + "Body").from_dict(body)
    answer = module.sync_detailed(*path, client=CLIENT, **query)
    if not type(answer.parsed).__name__.startswith(pascal + "Response"):
        sys.exit(f"{name}: {answer.status_code} {answer.parsed} {answer.content}")
    called.add(name)
    return answer.parsed


def equal(got, want, what):
    if got != want:
        sys.exit(f"{what}: {got!r}, not {want!r}")


equal(call("account.me").user.email, "ann@example.com", "me")
call("account.status")
team = call("workspace.create", body={"name": "Typed"}).workspace.id
call("workspace.update", team, body={"name": "Typed well"})
equal(call("workspace.get", team).workspace.name, "Typed well", "workspace")
equal(len([w for w in call("workspace.list", limit=100).workspaces if w.id == team]), 1, "workspaces")
equal([m.role for m in call("member.list", team).members], [models.MemberRole.OWNER], "members")

atlas = call("atlas.create", body={"name": "Hosts", "workspaceId": str(team), "keywords": ["host"]}).atlas.id
call("atlas.update", atlas, body={"description": "Where things run"})
equal(call("atlas.get", atlas).atlas.description, "Where things run", "atlas")
call("atlas.list", workspace_id=team)


def create(content):
    return call("memory.create", body={"content": content, "workspaceId": str(team), "type": "fact", "tags": ["host"]}).memory


memory = create("The staging host is called basalt.")
equal(memory.type_, models.MemoryType.FACT, "type")
call("memory.update", memory.id, body={"title": "Staging", "tags": []})
call("memory.append", memory.id, body={"content": "It listens on 8443."})
call("memory.verify", memory.id, body={"evidence": "uname", "confidence": 0.5})
read = call("memory.get", memory.id)
equal((read.title, read.confidence, read.created_at), ("Staging", 0.5, memory.created_at), "memory")
versions = call("memory.versions", memory.id).versions
call("memory.revert", memory.id, body={"version": versions[0].version - 1})
found = call("memory.search", body={"query": "basalt", "mode": "keyword", "workspace_id": str(team)}).memories
equal([m.id for m in found], [memory.id], "found")
equal(len(call("memory.list", workspace_id=team, since="7d").memories), 1, "listed")
equal(len(call("memory.context", atlas_id=atlas, max_tokens=500).groups), 1, "context")
following = create("The staging host is called granite.").id
call("memory.similar", memory.id)
old = call("memory.supersede", memory.id, body={"replacementMemoryId": str(following)}).memory
equal(old.superseded_by, following, "superseded")
call("memory.restore", memory.id)
call("memory.archive", memory.id)
call("memory.delete", memory.id)

session = call("session.start", body={"task": "Move staging", "workspaceId": str(team)}).session.id
call("session.capture", session, body={"content": "Staging has moved.", "type": "decision"})
call("session.finalize", session, body={"summary": "Done."})
call("key.list")

memory_get = importlib.import_module("loci_client.api.memory.memory_get")
refused = memory_get.sync_detailed(memory.id, client=CLIENT)
equal((refused.status_code, type(refused.parsed)), (404, Error), "a deleted memory")
print(len(called))
