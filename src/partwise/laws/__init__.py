"""The laws of structures, and what they are tried on; ``partwise.testing`` is the way in."""
