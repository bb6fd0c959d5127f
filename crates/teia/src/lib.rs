//! Collect, keep, refresh and search a part of the web
