//! Threads of the fuzz targets: none but the one that libFuzzer calls.

/// Makes the calling thread rayon's only worker, so that no loop is handed to another.
pub(crate) fn start() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("libFuzzer's thread is the first to use rayon");
}
