//! What an interrupted command leaves behind: nothing.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::Files;

#[test]
fn unfinished_files_go_with_the_process() {
    let files = Files::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_girih"))
        .arg("demo")
        .env("TMPDIR", files.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while files.listing().is_empty() {
        assert!(started.elapsed() < Duration::from_secs(30), "nothing was begun");
        sleep(Duration::from_millis(1));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(files.listing(), [""; 0]);
}
