"""Language models that run in this process, and the KV states that they compute."""
