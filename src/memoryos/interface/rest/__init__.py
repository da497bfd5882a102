"""The memory over HTTP. It needs the extra `server`; `import memoryos` does not load it."""
