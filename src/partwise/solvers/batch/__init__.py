"""Methods that take the gradient of all examples at each step."""
