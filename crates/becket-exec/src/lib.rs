//! One command under one deadline: start, feed, drain, bound, kill, reap.
