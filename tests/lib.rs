//! Tests across crates. There is nothing here but the tests beside this file.
