"""The tasks: the data, the training and the predictions of each."""
