"""The site of the documentation: `make docs` builds it from the Markdown in this folder, with Sphinx, MyST and Furo.

The pages are plain Markdown, so that a Git host shows them as well. `index.md` is a list of links under headings: the
navigation of the site is made from it, one group for each heading.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx

project = "MemoryOS"
html_title = "MemoryOS"
extensions = ["myst_parser"]
html_theme = "furo"
myst_heading_anchors = 4  # links to headings, by the anchors that Git hosts make
exclude_patterns = ["_build"]
html_copy_source = False
html_show_copyright = False
nitpicky = True


def setup(app: Sphinx) -> None:
    """Add the navigation to the index when Sphinx reads it."""
    app.connect("source-read", add_navigation)


def add_navigation(app: Sphinx, name: str, source: list[str]) -> None:
    """Append a hidden table of contents for each heading of the index, with the pages that are linked below it."""
    if name == app.config.root_doc:
        groups = re.findall(r"^## (.+)$((?:\n(?!## ).*)*)", source[0], re.MULTILINE)
        source[0] += "".join(_group(heading, re.findall(r"\]\(([^)#:]+)\.md\)", body)) for heading, body in groups)


def _group(heading: str, pages: list[str]) -> str:
    return "\n```{toctree}\n:hidden:\n:caption: " + heading + "\n\n" + "\n".join(pages) + "\n```\n"
