"""Frameworks: the memory in the forms that other libraries take. Each module needs its library alone."""
