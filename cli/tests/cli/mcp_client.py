"""Talks to `gemel mcp` with the reference client of the protocol: mcp_client.py PROGRAM REPOSITORY."""
import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def either(value, *names):
    """Releases of the client differ in how they spell members."""
    return next(getattr(value, name) for name in names if hasattr(value, name))


def structured(result):
    return either(result, "structured_content", "structuredContent")


def failed(result):
    return either(result, "is_error", "isError")


async def main():
    program, repository = sys.argv[1:]
    server = StdioServerParameters(command=program, args=["mcp", "--allow-write"], cwd=repository)
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        assert either(hello, "server_info", "serverInfo").name == "gemel"
        assert "status" in hello.instructions
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert {"status", "log", "show", "diff", "change_begin", "change_finish"} <= set(tools), tools.keys()

        status = await session.call_tool("status", {})
        assert not failed(status) and structured(status)["schema"] == "gemel.agent.v1"
        assert "readiness" in status.content[0].text
        first = structured(await session.call_tool("log", {"limit": 1}))
        cursor = first["pagination"]["next_cursor"]
        second = structured(await session.call_tool("log", {"limit": 1, "cursor": cursor}))
        names = [page["result"]["changes"][0]["name"] for page in (first, second)]
        assert names == ["C2", "C1"], names

        missing = await session.call_tool("show", {"id": "nosuch"})
        assert failed(missing) and structured(missing)["error"]["query_code"] == "NOT_FOUND"

        begun = await session.call_tool("change_begin", {"intent_summary": "Through the client"})
        assert not failed(begun), begun
        with open(os.path.join(repository, "a.txt"), "w") as file:
            file.write("from the client\n")
        finished = await session.call_tool(
            "change_finish", {"summary": "by a client", "claim": ["a.txt|comes from the client"]}
        )
        assert structured(finished)["result"]["change_name"] == "C3", finished
        calls = [session.call_tool("log", {}) for _ in range(20)]
        for answer in await asyncio.gather(*calls):
            assert structured(answer)["result"]["changes"][0]["summary"] == "by a client"

        resource = await session.read_resource("gemel://status")
        assert json.loads(resource.contents[0].text)["schema"] == "gemel.agent.v1"
    print("ok")


asyncio.run(asyncio.wait_for(main(), 60))
