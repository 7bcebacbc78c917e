//! Jobs in Python, beside ours: one process, to which arrays go as files.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use girih::Csr;
use girih::ndarray::Array2;
use tempfile::TempDir;

use crate::Failure;
use crate::value::Value;

/// An interpreter that waits for jobs.
pub(crate) struct Peer {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    folder: TempDir,
}

/// What a library made of a job.
pub(crate) struct Answer<T> {
    pub(crate) library: String,
    pub(crate) seconds: f64,
    pub(crate) out: Array2<T>,
}

/// A job: its name, the matrix, how often its step is repeated, and the dense matrices that it begins with.
pub(crate) struct Request<'a, T: Value> {
    pub(crate) job: &'a str,
    pub(crate) a: &'a Csr<T>,
    pub(crate) steps: usize,
    pub(crate) arrays: &'a [(&'a str, Array2<T>)],
    pub(crate) seconds: f64,
}

impl Peer {
    /// Starts the interpreter that `GIRIH_PYTHON` names; `None`, said, if it names none.
    pub(crate) fn start() -> Result<Option<Self>, Failure> {
        let Some(python) = std::env::var_os("GIRIH_PYTHON") else {
            println!("GIRIH_PYTHON names no interpreter: nothing in Python stands beside");
            return Ok(None);
        };
        let mut command = Command::new(python);
        command.args(["-c", include_str!("peer.py")]);
        command.arg(rayon::current_num_threads().to_string());
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (requests, answers) = (process.stdin.take(), process.stdout.take());
        let (Some(requests), Some(answers)) = (requests, answers) else {
            return Err("the interpreter has no pipes".into());
        };
        let (answers, folder) = (BufReader::new(answers), tempfile::tempdir()?);
        Ok(Some(Self { process, requests, answers, folder }))
    }

    /// What each of its libraries makes of a job.
    pub(crate) fn ask<T: Value>(
        &mut self,
        request: &Request<'_, T>,
    ) -> Result<Vec<Answer<T>>, Failure> {
        let Request { job, a, steps, arrays, seconds } = request;
        let path = |name: &str| self.folder.path().join(name);
        fs::write(path("row_ptr"), bytemuck::cast_slice::<u64, u8>(a.row_ptr()))?;
        fs::write(path("col_idx"), bytemuck::cast_slice::<u32, u8>(a.col_idx()))?;
        fs::write(path("values"), bytemuck::cast_slice::<T, u8>(a.values()))?;
        let mut list = Vec::new();
        for (name, array) in *arrays {
            let elements: Vec<T> = array.iter().copied().collect();
            fs::write(path(name), bytemuck::cast_slice::<T, u8>(&elements))?;
            let (rows, cols) = array.dim();
            list.push(format!(r#"["{name}", {rows}, {cols}]"#));
        }
        let (folder, list) = (self.folder.path().display(), list.join(", "));
        let dtype = if size_of::<T>() == 4 { "float32" } else { "float64" };
        let (m, k) = (a.nrows(), a.ncols());
        writeln!(
            self.requests,
            r#"{{"job": "{job}", "folder": "{folder}", "dtype": "{dtype}", "shape": [{m}, {k}], "steps": {steps}, "seconds": {seconds}, "arrays": [{list}]}}"#
        )?;
        self.requests.flush()?;
        let mut answers = Vec::new();
        loop {
            let mut line = String::new();
            if self.answers.read_line(&mut line)? == 0 {
                return Err(format!("Python ended in {job}").into());
            }
            let fields: Vec<&str> = line.trim_end().split('\t').collect();
            match fields[..] {
                ["done"] => return Ok(answers),
                [library, seconds, rows, cols, path] => {
                    let elements = bytemuck::pod_collect_to_vec::<u8, T>(&fs::read(path)?);
                    let out = Array2::from_shape_vec((rows.parse()?, cols.parse()?), elements)?;
                    let (library, seconds) = (library.to_owned(), seconds.parse()?);
                    answers.push(Answer { library, seconds, out });
                }
                _ => return Err(format!("Python says {line:?}").into()),
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It waits for requests, and nothing is lost with it.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
