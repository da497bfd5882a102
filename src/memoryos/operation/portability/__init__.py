"""Taking memories along: an owner's memories as lines of JSON, and back."""
