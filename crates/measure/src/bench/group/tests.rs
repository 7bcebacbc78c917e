use girih::backend::{BackendError, Capabilities, DenseView, DenseViewMut, Lowering, Unsupported};
use girih::cpu::Isa;
use girih::{CudaOptions, FormatKind, PreparedSpmm, ReferenceBackend, SpmmBackend};

use super::super::device::Device;
use super::*;

/// The reference, with one element of C off by a little or left alone, or without a format.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    OffByALittle,
    LeavesLastRow,
    LacksWcsr,
}

#[derive(Debug)]
struct Faulty(Fault);

#[derive(Debug)]
struct PreparedFaulty(Fault, Box<dyn PreparedSpmm>);

impl SpmmBackend for Faulty {
    fn name(&self) -> &str {
        "faulty"
    }

    fn capabilities(&self) -> Result<Capabilities, BackendError> {
        ReferenceBackend.capabilities()
    }

    fn supports(&self, plan: &Plan) -> Result<(), Unsupported> {
        if self.0 == Fault::LacksWcsr && plan.spec().kind() == FormatKind::Wcsr {
            let format = FormatKind::Wcsr;
            return Err(Unsupported::Format { format, reason: "no wcsr".into() });
        }
        Ok(())
    }

    fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        Ok(Box::new(PreparedFaulty(self.0, ReferenceBackend.prepare(plan)?)))
    }
}

impl PreparedSpmm for PreparedFaulty {
    fn execute(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let DenseViewMut::F32(mut c) = c else { unreachable!("the tests are in f32") };
        let (last, n) = (c.nrows() - 1, c.ncols());
        let before = c[[last, n - 1]];
        self.1.execute(alpha, b, beta, c.view_mut().into())?;
        match self.0 {
            Fault::None | Fault::LacksWcsr => {}
            Fault::OffByALittle => c[[0, 0]] += 1e-3,
            Fault::LeavesLastRow => c[[last, n - 1]] = before,
        }
        Ok(())
    }

    fn lowering(&self, n: usize) -> Lowering {
        self.1.lowering(n)
    }
}

/// Hears and says nothing.
struct Silent;

impl Observer for Silent {
    fn stage(&self, _: &str) {}

    fn timed_stage(&self, _: &str) {}

    fn planning(&self, _: &str) -> Box<dyn Fn(Progress) + Send + Sync> {
        Box::new(|_| {})
    }
}

/// 40×31, with three entries among the columns 28 to 31 of every row.
fn matrix() -> Csr<f32> {
    let row_ptr: Vec<u64> = (0..=40).map(|row| 4 * row).collect();
    let col_idx: Vec<u32> = (0..40).flat_map(|row| [row % 28, 28, 29, 30]).collect();
    let values: Vec<f32> = (0..160).map(|i| 1.0 + i as f32 / 64.0).collect();
    Csr::try_new(40, 31, row_ptr, col_idx, values).unwrap()
}

fn requests(formats: &[&str]) -> Vec<CaseRequest> {
    let request = |name: &&str| CaseRequest { format: name.parse().unwrap(), ..CaseRequest::CSR };
    formats.iter().map(request).collect()
}

fn engines(faults: &[Fault]) -> Engines {
    let engine = |&fault: &Fault| {
        let multiplier = Multiplier::Host(Box::new(Faulty(fault)));
        Engine { multiplier, isa: None, floor_isa: Some(Isa::Portable), team: 0 }
    };
    let engines = faults.iter().map(engine).collect();
    Engines { teams: vec![Team::new(1).unwrap()], engines }
}

fn check(
    faults: &[Fault],
    names: &[&str],
    memory_limit: Option<u64>,
    judge: impl FnOnce(Result<Group<'_>, MeasureError>),
) {
    let (requests, engines) = (requests(names), engines(faults));
    let config = GroupConfig {
        requests: &requests,
        engines: &engines,
        seconds: 0.0,
        memory_limit,
        seed: 1,
        precision: Precision::default(),
        target: DeviceSpec::cpu(),
    };
    judge(run("test", &matrix(), 5, &config, &mut KnownOrders::default(), &Silent));
}

#[test]
fn right_products_are_timed() {
    check(&[Fault::None], &["csr", "auto", "bcsr:8"], None, |group| {
        let group = group.unwrap();
        assert_eq!((group.cases.len(), group.skipped.len()), (3, 0));
        for case in &group.cases {
            assert_eq!(case.verification.elements, 200);
            let summary = case.samples.summary();
            assert!(summary.samples >= 3 && summary.min > 0.0 && summary.min <= summary.q1);
            assert!(summary.q1 <= summary.median && summary.median <= summary.q3);
        }
    });
}

#[test]
fn orders_are_cases_of_their_own() {
    let engines = engines(&[Fault::None]);
    let requests: Vec<CaseRequest> = ["none", "rcm", "random:3", "auto"]
        .map(|order| CaseRequest { order: order.parse().unwrap(), ..CaseRequest::CSR })
        .into();
    let (seconds, memory_limit, seed, precision) = (0.0, None, 1, Precision::default());
    let target = DeviceSpec::cpu();
    let requests = &requests[..];
    let config =
        GroupConfig { requests, engines: &engines, seconds, memory_limit, seed, precision, target };
    let group = run("test", &matrix(), 5, &config, &mut KnownOrders::default(), &Silent).unwrap();
    let orders: Vec<&str> = group.cases.iter().map(|case| case.order.as_str()).collect();
    // So small a matrix is left as it is.
    assert_eq!(orders, ["none", "rcm", "random:3", "natural"]);
    assert!(group.cases.iter().all(|case| case.verification.max_error_over_bound <= 1.0));
}

#[test]
fn a_wrong_product_ends_the_run_before_it_is_timed() {
    for (fault, place) in [(Fault::OffByALittle, "C[0, 0]"), (Fault::LeavesLastRow, "C[39, 4]")] {
        check(&[fault], &["csr"], None, |group| {
            let error = group.unwrap_err();
            let MeasureError::Wrong { what, source } = error else { panic!("{error:?}") };
            let message = source.to_string();
            assert!(what == "csr on faulty" && message.contains(place), "{what}: {message}");
        });
    }
}

#[test]
fn a_right_product_does_not_vouch_for_a_wrong_one() {
    let csr = &["csr"];
    check(&[Fault::None, Fault::None], csr, None, |group| {
        let group = group.unwrap();
        let [one, other] = &group.cases[..] else { panic!("{:?}", group.cases) };
        assert_eq!(one.verification, other.verification);
    });
    for fault in [Fault::OffByALittle, Fault::LeavesLastRow] {
        check(&[Fault::None, fault], csr, None, |group| {
            assert!(matches!(group.unwrap_err(), MeasureError::Wrong { .. }));
        });
    }
}

#[test]
fn what_is_not_supported_is_skipped_with_its_reason() {
    check(&[Fault::LacksWcsr], &["wcsr:8", "csr", "two-four"], None, |group| {
        let group = group.unwrap();
        assert_eq!(group.cases.len(), 1);
        let [wcsr, two_four] = &group.skipped[..] else { panic!("{:?}", group.skipped) };
        assert_eq!((wcsr.engine, wcsr.reason.as_str()), (Some(0), "no wcsr"));
        assert!(two_four.engine.is_none() && two_four.reason.contains("row 0"), "{two_four:?}");
    });
}

#[test]
fn the_memory_limit_counts_operands_and_tiles() {
    // B is 31×5 and C 40×5, in f32.
    let operands = 4 * 5 * (31 + 40);
    check(&[Fault::None], &["csr"], Some(operands - 1), |group| {
        let group = group.unwrap();
        assert!(group.cases.is_empty() && group.skipped[0].reason.contains("B and C take"));
    });
    check(&[Fault::None], &["csr"], Some(operands + 10), |group| {
        let group = group.unwrap();
        assert!(group.cases.is_empty() && group.skipped[0].reason.contains("limit"));
    });
    check(&[Fault::None], &["csr"], Some(operands + 10_000), |group| {
        assert_eq!(group.unwrap().cases.len(), 1);
    });
}

#[test]
fn a_yardstick_is_timed_once_whatever_the_formats() {
    let mut engines = engines(&[Fault::None]);
    let wanted = |engines: &Engines, names: &[&str]| {
        let requests = requests(names);
        let (seconds, memory_limit, seed, precision) = (0.0, None, 1, Precision::default());
        let target = DeviceSpec::cpu();
        let requests = &requests[..];
        let config =
            GroupConfig { requests, engines, seconds, memory_limit, seed, precision, target };
        let of = |engine: &Engine| {
            let wants = config.planned().filter(|&request| config.wants(engine, request));
            wants.map(|request| request.to_string()).collect::<Vec<_>>().join(" ")
        };
        engines.engines.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(wanted(&engines, &["bcsr:8", "auto"]), ["bcsr:8x8 auto"]);
    let dense = Device::dense(&CudaOptions::default()).remove(0);
    let engine =
        Engine { multiplier: Multiplier::Device(dense), isa: None, floor_isa: None, team: 0 };
    engines.engines.push(engine);
    assert_eq!(wanted(&engines, &["bcsr:8", "auto"]), ["bcsr:8x8 auto", "csr"]);
    assert_eq!(wanted(&engines, &["auto", "csr"]), ["auto csr", "csr"]);
}
