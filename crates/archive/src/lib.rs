//! Exchanges to WARC and back, and the index of captures
