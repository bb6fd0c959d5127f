//! Moves a URL through every room and makes each commit
