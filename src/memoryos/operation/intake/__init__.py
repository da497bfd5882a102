"""From what a caller passes to pages in the store: messages, checking, pagination, storing once."""
