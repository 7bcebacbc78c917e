//! Shared memory of a CTA.

/// Shared memory of a CTA, by offset: [`SHARED_START`](super::SHARED_START) is the first byte in
/// use.
#[derive(Debug)]
pub(crate) struct Shared {
    bytes: Vec<u8>,
}

impl Shared {
    /// Memory up to `end`.
    pub(crate) fn new(end: u32) -> Self {
        Self { bytes: vec![0xFF; end as usize] }
    }

    /// The bytes, whether initialized or not.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, to write without any check.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}
