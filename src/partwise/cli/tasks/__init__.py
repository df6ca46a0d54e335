"""What the command line can train, a file a task."""
