//! Dropping entries: explicit zeros, and all but the two largest of four.
