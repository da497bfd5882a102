"""Long-term memory: facts with their successions, personas, traits."""
