//! Aᵀ as CSR, which is A as CSC.
