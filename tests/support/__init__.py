"""What several tests share: data, plain calculations to compare with, and ways to run commands."""
