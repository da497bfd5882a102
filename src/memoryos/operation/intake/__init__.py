"""From a caller's arguments to pages in the store: messages, checks, pagination, storing once."""
