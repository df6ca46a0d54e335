"""Drop-in faces of other toolkits.

To move to partwise, change the import line:

    from partwise.compat import sklearn_crfsuite
    from partwise.compat import pycrfsuite
"""
