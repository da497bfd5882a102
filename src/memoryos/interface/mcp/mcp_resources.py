"""MCP resources and prompts: what a client may show or attach by itself. They too are listed without the library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mcp_types as mcp

from memoryos.interface.mcp.tool_arguments import QUESTION_CHARS

MEDIA_TYPE = "text/plain"


@dataclass(frozen=True, slots=True)
class McpResource:
    """A text that a client may read at any time."""

    name: str
    operation: str  #: of Memory, as in docs/reference/doors.md
    title: str
    description: str

    @property
    def uri(self) -> str:
        """Its address."""
        return f"memoryos://{self.name}"

    def told(self) -> mcp.Resource:
        """The resource as a client sees it."""
        return mcp.Resource(
            name=self.name, uri=self.uri, title=self.title, description=self.description, mime_type=MEDIA_TYPE
        )


RESOURCES: tuple[McpResource, ...] = (
    McpResource("profile", "profile.get", "Profile", "What is known about the user and the assistant."),
    McpResource("recent", "pages.list", "Recent context", "The latest exchanges: the short-term memory of the user."),
)

BY_URI: Mapping[str, McpResource] = {one.uri: one for one in RESOURCES}

RECALL = mcp.Prompt(
    name="recall",
    title="Ask with memory",
    description="Put what the memory knows before a question.",
    arguments=[
        mcp.PromptArgument(
            name="question",
            title="Question",
            description=f"What you want to ask, in at most {QUESTION_CHARS:,} characters.",
            required=True,
        )
    ],
)
