"""Training in blocks of examples that do not see each other's steps for a while."""
