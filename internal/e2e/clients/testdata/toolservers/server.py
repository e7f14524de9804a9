"""A server of tools as people write them with the official SDK for Python."""

import os
from typing import Any

from mcp.server.mcpserver import MCPServer

server = MCPServer("python")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("it never works")


@server.tool()
def environment() -> list[str]:
    """Names the variables of its environment."""
    return sorted(os.environ)


@server.tool()
def nested(what: dict[str, Any]) -> dict[str, Any]:
    """Gives an object back."""
    return {"what": what}


server.run(transport="stdio")
