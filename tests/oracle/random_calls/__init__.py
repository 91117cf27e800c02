"""Random calls of every operator, run by the real MXNet 1.9.1 and by gluonjax, and compared.

``draw`` makes the calls, ``worker`` runs them in the real MXNet (one forked process for each call, so that a
crash costs one call), ``compare`` says what differs, ``known`` lists what differs on purpose.
"""
