"""The memory as an MCP server. It needs the extra `mcp`; `import memoryos` does not load it."""
