//! How much memory the process has used.

/// The most bytes that were resident at any time, where the system says so.
#[cfg(target_os = "linux")]
pub fn peak_rss() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The most bytes that were resident at any time, where the system says so.
#[cfg(not(target_os = "linux"))]
pub fn peak_rss() -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn touched_memory_shows() {
        let touched = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(peak_rss().unwrap() > touched.len() as u64);
    }
}
