"""The tools in requests: each set of tools is stored once, however many turns repeat it."""

from collections.abc import Collection, Mapping
from hashlib import sha256

import sqlalchemy as sa

from weaklink.inspector.model import ToolDefinition
from weaklink.storage import tables
from weaklink.storage.engine import insert_new
from weaklink.storage.packing.blobs import DamagedBlobError, from_blob, to_blob
from weaklink.storage.packing.records import tool_from
from weaklink.storage.packing.values import pack, unpack
from weaklink.storage.tables import Row, Toolset, in_groups


def intern_toolsets(connection: sa.Connection, toolsets: Mapping[bytes, Toolset]) -> dict[bytes, int]:
    """The ids of the toolsets, by hash; inserts those that are missing."""
    known = _ids(connection, tables.toolset, toolsets)
    new = {digest: toolset for digest, toolset in toolsets.items() if digest not in known}
    if not new:
        return known
    tools = {sha256(body).digest(): (name, body) for toolset in new.values() for name, body in toolset}
    rows = [{"hash": digest, "name": name, "body": to_blob(body)} for digest, (name, body) in tools.items()]
    insert_new(connection, tables.tool, rows)
    tool_ids = _ids(connection, tables.tool, tools)
    insert_new(connection, tables.toolset, [{"hash": digest} for digest in new])
    added = _ids(connection, tables.toolset, new)
    links = [
        {"toolset_id": added[digest], "number": number, "tool_id": tool_ids[sha256(body).digest()]}
        for digest, toolset in new.items()
        for number, (_, body) in enumerate(toolset)
    ]
    insert_new(connection, tables.toolset_tool, links)
    return known | added


def copy_toolsets(source: sa.Connection, target: sa.Connection, ids: Collection[int]) -> dict[int, int]:
    """Copy toolsets as they are stored, even damaged ones; the ids of the copies, by those of the originals."""
    link, tool = tables.toolset_tool, tables.tool
    hashes = toolset_hashes(source, ids)
    known = _ids(target, tables.toolset, hashes.values())
    new = {id_: digest for id_, digest in hashes.items() if digest not in known}
    links: list[tuple[int, int, bytes]] = []
    tools: dict[bytes, Row] = {}
    for group in in_groups(new):
        columns = sa.select(link.c.toolset_id, link.c.number, tool.c.hash, tool.c.name, tool.c.body)
        joined = columns.join(tool, tool.c.id == link.c.tool_id).where(link.c.toolset_id.in_(group))
        for id_, number, digest, name, body in source.execute(joined):
            links.append((id_, number, bytes(digest)))
            tools[bytes(digest)] = {"hash": bytes(digest), "name": name, "body": bytes(body)}
    insert_new(target, tables.tool, list(tools.values()))
    insert_new(target, tables.toolset, [{"hash": digest} for digest in new.values()])
    tool_ids, known = _ids(target, tables.tool, tools), _ids(target, tables.toolset, hashes.values())
    rows = [
        {"toolset_id": known[new[id_]], "number": number, "tool_id": tool_ids[digest]} for id_, number, digest in links
    ]
    insert_new(target, tables.toolset_tool, rows)
    return {id_: known[digest] for id_, digest in hashes.items()}


def toolset_hashes(connection: sa.Connection, ids: Collection[int]) -> dict[int, bytes]:
    """The hashes of toolsets by id."""
    toolset = tables.toolset.c
    return {
        id_: bytes(digest)
        for group in in_groups(ids)
        for id_, digest in connection.execute(sa.select(toolset.id, toolset.hash).where(toolset.id.in_(group)))
    }


def load_toolsets(
    connection: sa.Connection, hashes: Mapping[int, bytes | None]
) -> dict[int, tuple[ToolDefinition, ...]]:
    """The tools of toolsets, in order, by id; DamagedBlobError if they do not match the given hash."""
    link, tool = tables.toolset_tool, tables.tool
    ids: dict[int, list[int]] = {id_: [] for id_ in hashes}
    bodies: dict[int, bytes] = {}
    for group in in_groups(ids):
        query = (
            sa.select(link.c.toolset_id, tool.c.id, tool.c.body)
            .join(tool, tool.c.id == link.c.tool_id)
            .where(link.c.toolset_id.in_(group))
            .order_by(link.c.toolset_id, link.c.number)
        )
        for toolset_id, tool_id, body in connection.execute(query):
            if tool_id not in bodies:
                bodies[tool_id] = from_blob(body)
            ids[toolset_id].append(tool_id)
    for id_, tools in ids.items():
        if hashes[id_] != sha256(pack([bodies[tool] for tool in tools])).digest():
            raise DamagedBlobError("hash mismatch in its tool definitions")
    tools_by_id = {tool_id: tool_from(unpack(body)) for tool_id, body in bodies.items()}
    return {id_: tuple(tools_by_id[tool] for tool in tools) for id_, tools in ids.items()}


def drop_unused_toolsets(connection: sa.Connection) -> None:
    """Delete the toolsets that no turn uses, and the tools that are in no toolset."""
    turn, link = tables.turn, tables.toolset_tool
    used = sa.select(turn.c.trace_id).where(turn.c.toolset_id == tables.toolset.c.id)
    connection.execute(sa.delete(tables.toolset).where(~used.exists()))
    in_toolset = sa.select(link.c.toolset_id).where(link.c.tool_id == tables.tool.c.id)
    connection.execute(sa.delete(tables.tool).where(~in_toolset.exists()))


def _ids(connection: sa.Connection, table: sa.Table, hashes: Collection[bytes]) -> dict[bytes, int]:
    ids: dict[bytes, int] = {}
    for group in in_groups(hashes):
        query = sa.select(table.c.hash, table.c.id).where(table.c.hash.in_(group))
        ids |= {bytes(digest): id_ for digest, id_ in connection.execute(query)}
    return ids
