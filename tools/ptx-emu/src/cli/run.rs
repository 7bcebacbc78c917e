//! `ptx-emu run`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use ptx_emu::{
    Arg, Buffer, DEFAULT_STEP_LIMIT, Device, Gpu, Launch, Launched, Module, Schedule, Timing,
};

use super::argument::{Argument, Memory};
use super::{CommandError, read};

/// Arguments of `ptx-emu run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// PTX file.
    file: PathBuf,
    /// Kernel to run; needed where the file has several.
    #[arg(long)]
    entry: Option<String>,
    /// CTAs of the grid: X, X,Y or X,Y,Z.
    #[arg(long, default_value = "1")]
    grid: Shape,
    /// Threads of a CTA.
    #[arg(long, default_value = "32")]
    block: Shape,
    /// CTAs of a cluster.
    #[arg(long)]
    cluster: Option<Shape>,
    /// Launches the grid cooperatively: all its CTAs run at once.
    #[arg(long)]
    cooperative: bool,
    /// Bytes of dynamic shared memory.
    #[arg(long, default_value_t = 0)]
    shared: u32,
    /// Memory that several arguments use, as NAME=TYPE:COUNT[:zero|:count|:fill=VALUE|:in=FILE]
    /// [:out=FILE][:print[=N]].
    #[arg(long, value_name = "NAME=MEMORY")]
    buffer: Vec<Named>,
    /// An argument, in the kernel's order: i32:5, f32:1.5; buf:f32:1024:zero:out=c.bin (as
    /// --buffer has it); buf:@NAME; map:NAME:bf16:dims=64,128:box=64,64[:strides=…]
    /// [:swizzle=128]; bytes:FILE.
    #[arg(long, value_name = "ARGUMENT")]
    arg: Vec<Argument>,
    /// When asynchronous operations complete: late, eager, random:SEED.
    #[arg(long, default_value = "late", value_parser = timing)]
    timing: Timing,
    /// In which order warps execute: fixed, random:SEED.
    #[arg(long, default_value = "fixed", value_parser = schedule)]
    schedule: Schedule,
    /// Instructions that the warps of a cluster may execute together.
    #[arg(long, default_value_t = DEFAULT_STEP_LIMIT)]
    steps: u64,
    /// Threads to run on; all there are unless told.
    #[arg(long)]
    workers: Option<usize>,
    /// Does not look for races between ordinary accesses.
    #[arg(long)]
    no_races: bool,
    /// Does not report reads of memory that nobody wrote.
    #[arg(long)]
    no_poison: bool,
}

/// Up to three extents.
#[derive(Debug, Clone, Copy)]
struct Shape([u32; 3]);

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut shape = [1; 3];
        let parts: Vec<_> = text.split([',', 'x']).collect();
        if parts.len() > 3 {
            return Err("more than three extents".into());
        }
        for (extent, part) in shape.iter_mut().zip(parts) {
            *extent = part.parse().map_err(|_| format!("{part} is no number"))?;
        }
        Ok(Self(shape))
    }
}

/// A `--buffer`.
#[derive(Debug, Clone)]
struct Named {
    name: String,
    memory: Memory,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, memory) = text.split_once('=').ok_or("is written NAME=TYPE:COUNT…")?;
        let memory =
            memory.parse().map_err(|error: super::argument::ArgumentError| error.to_string())?;
        Ok(Self { name: name.to_owned(), memory })
    }
}

fn seed(text: &str) -> Option<u64> {
    text.strip_prefix("random:")?.parse().ok()
}

fn timing(text: &str) -> Result<Timing, String> {
    match text {
        "late" => Ok(Timing::Late),
        "eager" => Ok(Timing::Eager),
        _ => seed(text).map(Timing::Random).ok_or_else(|| "is late, eager or random:SEED".into()),
    }
}

fn schedule(text: &str) -> Result<Schedule, String> {
    match text {
        "fixed" => Ok(Schedule::Fixed),
        _ => seed(text).map(Schedule::Random).ok_or_else(|| "is fixed or random:SEED".into()),
    }
}

/// Memory of this launch, and what becomes of it afterwards.
struct Allocated<'a> {
    name: String,
    memory: &'a Memory,
    buffer: Buffer<u8>,
}

impl Run {
    pub(super) fn execute(&self, out: &mut dyn Write) -> Result<(), CommandError> {
        let source = read(&self.file)?;
        let module = Module::check(&source)
            .map_err(|errors| CommandError::Parse { path: self.file.clone(), errors })?;
        let entry = self.entry(&module)?;
        let mut gpu = Gpu::new(Device::h100());
        let mut allocated = Vec::new();
        for Named { name, memory } in &self.buffer {
            let buffer = memory.allocate(&mut gpu, name, bytes_of)?;
            allocated.push(Allocated { name: name.clone(), memory, buffer });
        }
        let mut args = Vec::new();
        for (position, argument) in self.arg.iter().enumerate() {
            args.push(self.argument(position, argument, &mut gpu, &mut allocated)?);
        }
        let start = Instant::now();
        let launched = gpu.launch(&module, &entry, &self.launch(), &args);
        let seconds = start.elapsed().as_secs_f64();
        // What was computed before a fault may explain it.
        for Allocated { name, memory, buffer } in &allocated {
            let bytes = gpu.read(*buffer);
            if let Some(path) = &memory.output {
                std::fs::write(path, &bytes)
                    .map_err(|source| CommandError::Output { path: path.clone(), source })?;
            }
            if memory.print > 0 {
                show(out, name, memory, &bytes)?;
            }
        }
        let launched = launched?;
        summary(out, &entry, &launched, seconds)?;
        Ok(())
    }

    fn entry(&self, module: &Module) -> Result<String, CommandError> {
        let names: Vec<_> = module.entries().map(|entry| entry.name().to_owned()).collect();
        match (&self.entry, &names[..]) {
            (Some(name), _) => Ok(name.clone()),
            (None, [name]) => Ok(name.clone()),
            (None, _) => Err(CommandError::Entry { path: self.file.clone(), names }),
        }
    }

    fn argument<'a>(
        &self,
        position: usize,
        argument: &'a Argument,
        gpu: &mut Gpu,
        allocated: &mut Vec<Allocated<'a>>,
    ) -> Result<Arg, CommandError> {
        let find = |name: &str, allocated: &[Allocated<'_>]| {
            let known = allocated.iter().find(|known| known.name == name);
            known.map(|known| known.buffer).ok_or_else(|| CommandError::Buffer(name.to_owned()))
        };
        Ok(match argument {
            Argument::Value(bytes) => Arg::bytes(bytes.clone()),
            Argument::File(path) => Arg::bytes(bytes_of(path)?),
            Argument::Named(name) => find(name, allocated)?.arg(),
            Argument::Map(map) => map.encode(find(&map.buffer, allocated)?.address())?,
            Argument::Memory(memory) => {
                let name = format!("argument {position}");
                let buffer = memory.allocate(gpu, &name, bytes_of)?;
                allocated.push(Allocated { name, memory, buffer });
                buffer.arg()
            }
        })
    }

    fn launch(&self) -> Launch {
        let [Shape([x, y, z]), Shape([bx, by, bz])] = [self.grid, self.block];
        let launch = Launch::grid(x, y, z)
            .block(bx, by, bz)
            .dynamic_shared(self.shared)
            .timing(self.timing)
            .schedule(self.schedule)
            .step_limit(self.steps)
            .races(!self.no_races)
            .poison(!self.no_poison);
        let launch = match self.cluster {
            Some(Shape([x, y, z])) => launch.cluster(x, y, z),
            None => launch,
        };
        let launch = if self.cooperative { launch.cooperative() } else { launch };
        match self.workers {
            Some(workers) => launch.workers(workers),
            None => launch,
        }
    }
}

fn bytes_of(path: &PathBuf) -> Result<Vec<u8>, CommandError> {
    std::fs::read(path).map_err(|source| CommandError::Read { path: Path::to_owned(path), source })
}

fn show(out: &mut dyn Write, name: &str, memory: &Memory, bytes: &[u8]) -> io::Result<()> {
    let elements = bytes.chunks_exact(memory.element.bytes());
    let shown: Vec<_> =
        elements.take(memory.print).map(|bytes| memory.element.show(bytes)).collect();
    writeln!(out, "{name}: {}", shown.join(" "))
}

fn summary(out: &mut dyn Write, entry: &str, launched: &Launched, seconds: f64) -> io::Result<()> {
    out.write_all(&launched.output)?;
    let total = launched.statistics.total;
    let rate = total.threads as f64 / seconds / 1e6;
    writeln!(
        out,
        "{entry}: {} instructions of warps, {} of threads, {seconds:.3} s, {rate:.1} million a second",
        total.warps, total.threads
    )
}
