"""What the faces of python-crfsuite and sklearn-crfsuite share: data, learners and decoder."""
