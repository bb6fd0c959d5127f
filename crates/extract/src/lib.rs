//! Bytes in, document and links out
