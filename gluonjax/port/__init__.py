"""Tools for moving MXNet programs: run a script, and later report on and rewrite it."""
