//! What backends keep with plans.

use girih_formats::{FormatKind, for_real_tiling};
use girih_planner::file::{Attachment, AttachmentError};
use girih_planner::file::{LoadOptions, PlanFileError};
use girih_planner::{Plan, Schedule};
use girih_reorder::Permutation;
use half::{bf16, f16};

use crate::hostile::{header_end, put, rehash_header};
use crate::support::{file_of, plans};

/// An attachment with arrays of every element, some of them empty.
pub(crate) fn attachment() -> Result<Attachment, AttachmentError> {
    Attachment::new("cpu", "avx2, 32 KiB")?
        .with_array("bytes", b"twelve bytes".to_vec())?
        .with_array("shorts", vec![u16::MAX, 1])?
        .with_array("words", vec![7u32; 1500])?
        .with_array("longs", Vec::<u64>::new())?
        .with_array("f16", vec![f16::ONE])?
        .with_array("bf16", vec![bf16::ONE, bf16::MAX])?
        .with_array("f32", vec![1.5f32])?
        .with_array("f64", vec![-0.0f64])
}

fn load(bytes: &[u8]) -> Result<Plan, PlanFileError> {
    LoadOptions::default().read_bytes(bytes)
}

#[test]
fn attachments_are_saved_and_borrowed_from_a_map() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.girih");
    for bare in plans::<f32>() {
        let mut plan = bare.clone().without_attachments();
        plan.attach(attachment().unwrap()).unwrap();
        plan.attach(Attachment::new("cuda", "sm_90a").unwrap()).unwrap();
        assert_eq!(plan.tile_bytes(), bare.tile_bytes());
        plan.save(&path).unwrap();
        let (read, info) = LoadOptions::default().read_with_info(&path).unwrap();
        assert_eq!(read, plan);
        // SAFETY: the file is not touched while `mapped` lives.
        let mapped = unsafe { LoadOptions::default().map(&path) }.unwrap();
        assert_eq!(mapped, plan);
        let kept = mapped.attachment("cpu", "avx2, 32 KiB").unwrap();
        assert_eq!(kept.array::<u32>("words").unwrap()[..], [7; 1500]);
        assert!(kept.array::<u32>("words").unwrap().is_mapped());
        assert_eq!(kept.array::<u8>("bytes").unwrap().as_ptr() as usize % 4096, 0);
        assert_eq!(kept.array::<u64>("longs").unwrap().len(), 0);
        // Other elements, other names and other keys are not there.
        assert_eq!(kept.array::<u64>("words"), None);
        assert_eq!(kept.array::<u32>("word"), None);
        assert_eq!(mapped.attachment("cpu", "avx2"), None);
        assert_eq!(mapped.attachment("cuda", "sm_90a").unwrap().arrays(), []);
        assert_eq!(file_of(&mapped), std::fs::read(&path).unwrap());

        let attached: Vec<_> = info.sections.iter().filter(|s| s.attachment.is_some()).collect();
        assert_eq!(attached.len(), 8);
        assert_eq!((attached[2].name.as_str(), attached[2].element), ("words", "u32"));
        assert_eq!((attached[2].count, attached[2].bytes), (1500, 6000));
        // Older readers know no hybrids.
        let minor = if plan.spec().kind() == FormatKind::Hybrid { 3 } else { 1 };
        assert_eq!((info.version, info.file_bytes % 4096), ((3, minor), 0));
        assert_eq!(kept.bytes(), attached.iter().map(|s| s.bytes).sum::<u64>());

        // Without them the plan is what it was, to the last byte.
        assert_eq!(mapped.without_attachments(), bare.clone().without_attachments());
        let bytes = file_of(&plan.without_attachments());
        assert_eq!(bytes, file_of(&bare.without_attachments()));
    }
}

/// A layout holds values and follows the schedule: it must not outlive what it was made from.
#[test]
fn a_plan_that_changes_drops_its_attachments() {
    let attached = |plan: &Plan| {
        let mut plan = plan.clone();
        plan.attach(attachment().unwrap()).unwrap();
        plan
    };
    let all = plans::<f32>();
    let plan = attached(&all[0]);
    let schedule = Schedule::by_window(plan.tiling());
    assert!(plan.with_schedule(&schedule).unwrap().attachments().is_empty());
    let cols = Permutation::try_new(vec![1, 0, 2, 3, 4, 5]).unwrap();
    assert!(attached(&all[0]).with_columns(cols).unwrap().attachments().is_empty());

    let with_map = all.iter().find(|plan| plan.slot_map().is_some()).unwrap();
    let mut plan = attached(with_map);
    let held = for_real_tiling!(plan.tiling(), t => plan.release(&t.to_csr().cast::<f32>()).unwrap(), complex => unreachable!());
    let other = held.cast::<f64>();
    assert!(plan.refresh_values(&other).is_err());
    assert_eq!(plan.attachments().len(), 1, "nothing changed");
    plan.refresh_values(&held).unwrap();
    assert!(plan.attachments().is_empty());
}

#[test]
fn the_same_backend_and_key_replace_and_others_are_counted() {
    let mut plan = plans::<f32>().remove(0);
    for value in [1u32, 2] {
        let one = Attachment::new("cpu", "k").unwrap().with_array("x", vec![value]).unwrap();
        plan.attach(one).unwrap();
        assert_eq!(plan.attachments().len(), 1);
        assert_eq!(plan.attachment("cpu", "k").unwrap().array::<u32>("x").unwrap()[..], [value]);
    }
    for i in 1..16 {
        plan.attach(Attachment::new("cpu", format!("k{i}")).unwrap()).unwrap();
    }
    let full = plan.attach(Attachment::new("cpu", "k16").unwrap());
    assert_eq!(full, Err(AttachmentError::TooMany { what: "attachments", limit: 16 }));
    plan.attach(Attachment::new("cpu", "k15").unwrap()).unwrap();
    assert_eq!(load(&file_of(&plan)).unwrap(), plan);
}

#[test]
fn names_that_cannot_be_shown_are_refused() {
    let long = "x".repeat(65);
    for name in ["", "a\u{1b}[1m", "tab\there", "ünicode", &long] {
        assert!(matches!(Attachment::new(name, "k"), Err(AttachmentError::Name { .. })), "{name}");
        let array = Attachment::new("cpu", "k").unwrap().with_array(name, vec![1u8]);
        let error = array.unwrap_err();
        assert!(matches!(error, AttachmentError::Name { .. }), "{error}");
        assert!(!error.to_string().chars().any(char::is_control), "{error}");
    }
    assert!(Attachment::new("cpu", "k".repeat(256)).is_ok());
    assert!(Attachment::new("cpu", "k".repeat(257)).is_err());
    let twice = attachment().unwrap().with_array("f32", vec![0u8]).unwrap_err();
    assert!(matches!(twice, AttachmentError::Twice { .. }), "{twice}");
    let mut many = Attachment::new("cpu", "k").unwrap();
    for i in 0..64 {
        many = many.with_array(format!("a{i}"), vec![i as u8]).unwrap();
    }
    let error = many.with_array("one more", vec![1u8]).unwrap_err();
    assert!(matches!(error, AttachmentError::TooMany { limit: 64, .. }), "{error}");
}

/// Lies about attachments in a file whose hashes match.
#[test]
fn hostile_attachments_are_named() {
    let mut plan = plans::<f32>().remove(0);
    let two = Attachment::new("backend", "key-1")
        .and_then(|a| a.with_array("array-1", vec![1u32, 2]))
        .and_then(|a| a.with_array("array-2", vec![3u32, 4]));
    plan.attach(two.unwrap()).unwrap();
    plan.attach(Attachment::new("backend", "key-2").unwrap()).unwrap();
    let good = file_of(&plan);
    let find = |text: &str| {
        let header = &good[..header_end(&good)];
        header.windows(text.len()).position(|w| w == text.as_bytes()).unwrap()
    };
    let lie = |at: usize, field: &[u8]| {
        let mut bytes = good.clone();
        put(&mut bytes, at, field);
        rehash_header(&mut bytes);
        load(&bytes).unwrap_err().to_string()
    };
    let after = |text: &str| find(text) + text.len();
    for (message, expected) in [
        (lie(find("array-2"), b"array-1"), "\"array-1\" is there twice"),
        (lie(find("key-2"), b"key-1"), "\"key-1\" is there twice"),
        (lie(find("array-2"), b"\x1b[31m-2"), "printable"),
        (lie(find("key-1"), b"\0\0\0\0\0"), "printable"),
        (lie(find("backend"), b"\xFF\xFE"), "decoded"),
        // kind, element, offset, count, bytes and hash of the array's row.
        (lie(after("array-1"), &4u32.to_le_bytes()), "belongs to the plan"),
        (lie(after("array-1"), &99u32.to_le_bytes()), "decoded"),
        (lie(after("array-1") + 4, &2u32.to_le_bytes()), "are not 8 bytes"),
        (lie(after("array-1") + 4, &8u32.to_le_bytes()), "are not 8 bytes"),
        (lie(after("array-1") + 8, &64u64.to_le_bytes()), "not page-aligned"),
        (lie(after("array-1") + 8, &4096u64.to_le_bytes()), "overlaps"),
        (lie(after("array-2") + 8, &(1u64 << 40).to_le_bytes()), "belong to nothing"),
        (lie(after("array-1") + 16, &u64::MAX.to_le_bytes()), "are not"),
        (lie(after("array-1") + 32, &0u64.to_le_bytes()), "\"array-1\" of the attachment"),
    ] {
        assert!(message.contains(expected), "{message:?} does not say {expected:?}");
        assert!(!message.chars().any(char::is_control), "{message:?}");
    }
    // One array, said to be a column range of the same size.
    let mut bytes = good.clone();
    let at = after("array-2");
    put(&mut bytes, at + 4, &8u32.to_le_bytes());
    put(&mut bytes, at + 16, &1u64.to_le_bytes());
    rehash_header(&mut bytes);
    assert!(load(&bytes).unwrap_err().to_string().contains("only a plan's own"));
}
