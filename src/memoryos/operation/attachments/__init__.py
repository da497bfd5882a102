"""Bytes that come with messages: data URLs, what a page says of them, and the object store that keeps them."""
