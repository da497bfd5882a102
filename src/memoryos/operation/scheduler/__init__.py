"""When work is done: jobs, turns of owners, steps, the background thread, what models may spend."""
