//! Matchers with the meaning of Python's re.search.
