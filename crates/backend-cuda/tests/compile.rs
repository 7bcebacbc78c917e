//! Every kernel in every configuration compiles, without spilling, within its budgets, and into the
//! instructions that it promises.

mod common;

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use girih_backend_cuda::kernels::{
    Kernel, all, check, disassemble, ladder, rounded, with_aggregation, with_epilogue,
};
use girih_backend_cuda::{Arch, Binary, CudaError, Jit, LibrarySearch, Origin, ablation};
use girih_testkit::machine::{self, nvdisasm};
use rayon::prelude::*;

/// The compiler; `None`, with a note, where there is none.
fn compiler(cache: Option<PathBuf>, sources: Option<PathBuf>) -> Option<Jit> {
    let jit = Jit::new(common::libraries(), cache, sources).keeping_ptx();
    if let Err(error) = jit.nvrtc() {
        machine::note(error);
        return None;
    }
    Some(jit)
}

/// A kernel, what the compiler made of it in this or an earlier run, and that as text where there is `nvdisasm`.
struct Compiled {
    kernel: Kernel,
    binary: Binary,
    sass: Option<String>,
}

/// Every kernel of products; `None`, with a note, where there is no compiler.
fn compiled() -> Option<&'static [Compiled]> {
    static COMPILED: OnceLock<Option<Vec<Compiled>>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| {
        let jit = compiler(machine::kept_kernels(), None)?;
        let products = all().into_iter().chain(with_epilogue()).chain(with_aggregation());
        Some(compile(&jit, products.chain(rounded()).chain(ladder()).collect()))
    });
    compiled.as_deref()
}

/// A compiler that has kept the PTX of them all.
fn compiler_of_all() -> Option<Jit> {
    compiled()?;
    compiler(machine::kept_kernels(), None)
}

/// Compiles kernels, on all cores.
fn compile(jit: &Jit, kernels: Vec<Kernel>) -> Vec<Compiled> {
    let nvdisasm = nvdisasm();
    let compile = |kernel: Kernel| {
        let kept = jit.cached(&kernel, Arch::SM_90A).unwrap();
        let binary = kept.unwrap_or_else(|| jit.compile(&kernel, Arch::SM_90A, false).unwrap());
        let sass = nvdisasm.as_ref().map(|program| disassemble(program, &binary).unwrap());
        Compiled { kernel, binary, sass }
    };
    // One at a time to a thread: some take far longer than others.
    kernels.into_par_iter().with_max_len(1).map(compile).collect()
}

/// Everything that is wrong with binaries.
fn wrong(compiled: &[Compiled]) -> Vec<String> {
    let wrong = compiled.iter().flat_map(|Compiled { kernel, binary, sass }| {
        let found = check(kernel, binary, sass.as_deref());
        found.into_iter().map(move |what| format!("{kernel}: {what}"))
    });
    wrong.collect()
}

/// The kernel that compiles fastest.
fn smallest() -> Kernel {
    all().into_iter().find(|kernel| kernel.stem == "quantize_e4m3").unwrap()
}

#[test]
fn kernels_keep_their_promises_on_hopper() {
    let Some(compiled) = compiled() else { return };
    let wrong = wrong(compiled);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn steps_of_ablations_keep_theirs() {
    let Some(jit) = compiler(machine::kept_kernels(), None) else { return };
    let wrong = wrong(&compile(&jit, ablation::kernels()));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn csr_reads_b_and_writes_c_in_vectors() {
    let Some(compiled) = compiled() else { return };
    for Compiled { kernel, sass, .. } in compiled.iter().filter(|it| it.kernel.stem == "csr_spmm") {
        let Some(sass) = sass else { return };
        for entry in kernel.budget.entries {
            let label = format!(".text.{entry}:");
            let from = sass.find(&label).unwrap_or_else(|| panic!("{kernel}: no {entry}"));
            let body = &sass[from + label.len()..];
            let body = &body[..body.find(".section").unwrap_or(body.len())];
            let in_vectors = ["_vectors_", "_runs_", "_rows_"].iter().any(|of| entry.contains(of))
                && !kernel.config.contains("in parts");
            let store = if kernel.config.contains(" to ") { "STG.E.64" } else { "STG.E.128" };
            for instruction in ["LDG.E.128.CONSTANT", store] {
                let is_there = body.contains(instruction);
                assert!(is_there || !in_vectors, "{kernel}: {entry} has no {instruction}");
            }
        }
    }
}

#[test]
fn a_kernel_for_any_device_compiles_for_an_older_one() {
    let Some(jit) = compiler(machine::kept_kernels(), None) else { return };
    let ampere = Arch { major: 8, minor: 0 };
    let kernel = all().into_iter().find(|kernel| kernel.only.is_none()).unwrap();
    let resources = jit.binary(&kernel, ampere).unwrap().resources();
    assert_eq!(resources.len(), kernel.budget.entries.len());
}

#[test]
fn a_binary_says_what_the_assembler_said() {
    let Some(compiled) = compiled() else { return };
    for Compiled { kernel, binary: reported, .. } in compiled {
        let silent = Binary { log: String::new(), ..reported.clone() };
        let mut expected = reported.resources();
        for resources in &mut expected {
            (resources.spill_stores, resources.spill_loads) = (0, 0);
        }
        assert!(!expected.is_empty());
        assert_eq!(silent.resources(), expected, "{kernel}");
    }
}

#[test]
fn ptx_is_text_with_every_entry() {
    let Some(jit) = compiler_of_all() else { return };
    for kernel in all() {
        let ptx = jit.ptx(&kernel, Arch::SM_90A).unwrap();
        assert!(ptx.contains(".target sm_90a"), "{kernel}");
        for entry in kernel.budget.entries {
            assert!(ptx.contains(&format!(".entry {entry}(")), "{kernel}: {entry}");
        }
    }
}

/// What multiplies in CSR may begin while B is copied: the emulator ends a grid before it begins the next, and no product
/// would show that a wait is missing.
#[test]
fn kernels_wait_for_the_copy_that_lets_them_begin() {
    let Some(jit) = compiler_of_all() else { return };
    let (mut copies, mut waits) = (0, 0);
    for kernel in all() {
        let says = match kernel.stem {
            "pack_b" => "griddepcontrol.launch_dependents;",
            "csr_spmm" if !kernel.config.contains("in parts") => "griddepcontrol.wait;",
            _ => continue,
        };
        let ptx = jit.ptx(&kernel, Arch::SM_90A).unwrap();
        for entry in kernel.budget.entries.iter().filter(|entry| **entry != "csr_scale") {
            assert!(body(&ptx, entry).contains(says), "{kernel}: {entry} lacks {says}");
            *(if kernel.stem == "pack_b" { &mut copies } else { &mut waits }) += 1;
        }
    }
    assert!(copies == 3 && waits > 100, "{copies} copy and {waits} wait");
}

/// An entry point in PTX, with labels that don't count the functions before it.
fn body(ptx: &str, entry: &str) -> String {
    let from = ptx.find(&format!(".entry {entry}(")).unwrap_or_else(|| panic!("no {entry}"));
    let body = ptx[from..].split("\n}\n").next().unwrap();
    let mut pieces = body.split("$L__BB");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        text + "$" + piece.trim_start_matches(|c: char| c.is_ascii_digit())
    })
}

#[test]
fn an_entry_compiled_alone_is_what_it_is_among_the_others() {
    let Some(jit) = compiler_of_all() else { return };
    let mut kernels = all();
    kernels.dedup_by_key(|kernel| kernel.stem);
    kernels.into_par_iter().with_max_len(1).for_each(|kernel| {
        let whole = jit.ptx(&kernel, Arch::SM_90A).unwrap();
        let entries = kernel.budget.entries;
        for entry in [entries[0], entries[entries.len() - 1]] {
            let alone = jit.ptx_of_entry(&kernel, entry, Arch::SM_90A).unwrap();
            assert_eq!(alone.matches(".entry").count(), 1, "{kernel}: {entry}");
            assert_eq!(body(&alone, entry), body(&whole, entry), "{kernel}: {entry}");
        }
    });
}

#[test]
fn an_entry_is_compiled_and_kept_alone() {
    let folder = tempfile::tempdir().unwrap();
    let Some(jit) = compiler(Some(folder.path().to_owned()), None) else { return };
    let complex = |kernel: &Kernel| kernel.stem == "csr_spmm" && kernel.config.contains("c64");
    let kernel = &all().into_iter().find(complex).unwrap();
    let [first, .., last] = kernel.budget.entries else { panic!("{kernel} has one entry") };
    let alone = |entry| jit.binary_of_entry(kernel, entry, Arch::SM_90A).unwrap();
    let compiled = [first, last].map(|entry| {
        let compiled = alone(entry);
        assert!(matches!(compiled.origin, Origin::Compiled(Some(_))), "{:?}", compiled.origin);
        compiled
    });
    let kept = [first, last].map(|entry| alone(entry));
    for (kept, compiled) in kept.iter().zip(&compiled) {
        assert!(matches!(kept.origin, Origin::Cache(_)), "{:?}", kept.origin);
        assert_eq!((&kept.cubin, &kept.log), (&compiled.cubin, &compiled.log));
    }
    assert_eq!(jit.cached_entries(kernel, Arch::SM_90A).unwrap().len(), 2);
    // The kernel is something else, and has the very same entries among its own.
    assert!(jit.cached(kernel, Arch::SM_90A).unwrap().is_none());
    let whole = jit.binary(kernel, Arch::SM_90A).unwrap().resources();
    assert_eq!(whole.len(), kernel.budget.entries.len());
    for (entry, alone) in [first, last].into_iter().zip(compiled) {
        let [found] = &alone.resources()[..] else { panic!("{kernel}: {entry} is not alone") };
        assert_eq!(found.entry, *entry);
        assert!(whole.contains(found), "{found:?} is not in {whole:?}");
    }
}

#[test]
fn a_cache_serves_a_machine_without_a_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let cache = || Some(folder.path().join("kernels"));
    let Some(jit) = compiler(cache(), None) else { return };
    let kernel = &smallest();
    assert!(jit.cached(kernel, Arch::SM_90A).unwrap().is_none());
    let compiled = jit.binary(kernel, Arch::SM_90A).unwrap();
    assert!(matches!(compiled.origin, Origin::Compiled(Some(_))));
    let cached = jit.binary(kernel, Arch::SM_90A).unwrap();
    assert!(matches!(cached.origin, Origin::Cache(_)));
    assert_eq!((cached.cubin, &cached.log), (compiled.cubin.clone(), &compiled.log));

    // Where the loader knows an NVRTC too, it is the very one that filled the cache or another; both
    // ways there is a binary.
    let without = Jit::new(LibrarySearch::new(), cache(), None);
    if without.nvrtc().is_err() {
        let found = without.binary(kernel, Arch::SM_90A).unwrap();
        assert_eq!(found.cubin, compiled.cubin);
    }
}

#[test]
fn sources_can_be_replaced_by_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let Some(jit) = compiler(None, Some(folder.path().to_owned())) else { return };
    let kernel = &smallest();
    let error = jit.binary(kernel, Arch::SM_90A).unwrap_err();
    let CudaError::Source { path, .. } = &*error else { panic!("{error}") };
    assert!(path.starts_with(folder.path()), "{}", path.display());

    let built_in = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/kernels");
    for from in built_in.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        if from.is_dir() {
            let to = folder.path().join(from.file_name().unwrap());
            fs::create_dir(&to).unwrap();
            let entries = from.read_dir().unwrap().map(|entry| entry.unwrap().path());
            for file in entries.filter(|path| path.is_file()) {
                fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
            }
        }
    }
    jit.binary(kernel, Arch::SM_90A).unwrap();

    let source = folder.path().join(kernel.stem).join(format!("{}.cu", kernel.stem));
    fs::write(&source, "#include \"shared/types.cuh\"\nthis is no CUDA;\n").unwrap();
    let error = jit.binary(kernel, Arch::SM_90A).unwrap_err();
    let CudaError::Compile { log, options, .. } = &*error else { panic!("{error}") };
    assert!(log.contains("quantize_e4m3.cu(2): error"), "{log}");
    assert!(options.contains(&"--gpu-architecture=sm_90a".to_owned()), "{options:?}");
}
