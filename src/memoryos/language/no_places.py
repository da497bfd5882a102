"""English words with a capital that name no place, though they stand where one does."""

from __future__ import annotations

# Capitalised words after "I moved to" and "I live in" that begin no name of a place: what else people move to.
NOT_PLACES = frozenset(
    """
    I My We A An Zoom Teams Slack Discord Signal Telegram WhatsApp Skype Notion Obsidian Evernote Linux Ubuntu
    Debian Fedora Windows Mac macOS MacOS Android iOS Chrome Firefox Safari Python Rust Go Java JavaScript
    TypeScript Kotlin Swift React Vue Django Kubernetes Docker AWS Azure Git GitHub GitLab Jira Excel Word Outlook
    Gmail Google Microsoft Apple Amazon Meta Facebook Netflix Spotify Twitter Instagram TikTok Mastodon Bluesky
    YouTube Substack PostgreSQL Postgres MySQL SQLite Premium Pro Plan Phase Level Chapter Part Step Stage Grade
    Class Year Team Group Room Building Unit Floor Section Version Sales Marketing Engineering Product Finance Legal
    Support Operations Research Design Management HR IT PR QA R&D Monday Tuesday Wednesday Thursday Friday Saturday
    Sunday January February March April May June July August September October November December
    """.split()
)
