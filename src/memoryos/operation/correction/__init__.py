"""Changes of what is remembered: update, delete, erase, and what follows for what was derived."""
