"""The OpenAI API with memory, in front of a model server. It needs the extra `server`."""
