"""The tasks: what each reads, how it is trained, and what it predicts."""
