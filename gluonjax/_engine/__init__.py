"""Level 2: the engine. Knows operators and arrays, neither NDArray nor Symbol."""
