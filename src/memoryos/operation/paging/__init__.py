"""Which page goes where: placing pages in segments, and learning the threshold for it."""
