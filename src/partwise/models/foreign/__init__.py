"""Model files of other toolkits."""
