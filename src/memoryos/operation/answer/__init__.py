"""Answers of a chat model with memory: the prompt, the call, the stream."""
