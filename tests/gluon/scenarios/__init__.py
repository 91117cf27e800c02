"""Short uses of Gluon, run under the real MXNet (``tests/oracle/record_scenarios.py``) and here, with equal answers.

Every function takes the package and returns a list of what it saw: texts, names, numbers, arrays and errors.
"""
