//! Structures that kernels are passed, written once: here as the host has them, and as a generated header in CUDA.

/// Structures of the host, and a test that says whether a header has the same ones. Members have the types of CUDA that
/// theirs are, or those that stand after `as`; comments go along. With `GIRIH_UPDATE_SNAPSHOTS=1` the test writes the header.
///
/// `as` after the name of a structure is its name in CUDA, `align` what its address there is a multiple of.
macro_rules! passed {
    ($path:literal; $(
        $(#[doc = $doc:literal])*
        $(#[align($align:literal)])?
        $(#[derive($($derive:ident),+)])?
        $vis:vis struct $name:ident $(as $cuda_name:literal)? {
            $($(#[doc = $of_member:literal])* $member:ident: $type:tt $(as $cuda:literal)?,)+
        }
    )+) => {
        $(
            $(#[doc = $doc])*
            #[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
            $(#[derive($($derive),+)])?
            #[repr(C)]
            $vis struct $name {
                $($(#[doc = $of_member])* $vis $member: $type,)+
            }
        )+

        #[test]
        fn kernels_have_the_same_structures() {
            use $crate::kernels::shared::passed::{Member, Structure, check};

            check($path, file!(), &[$(
                Structure {
                    doc: &[$($doc),*],
                    align: [$($align,)? 0][0],
                    name: [$($cuda_name,)? stringify!($name)][0],
                    bytes: size_of::<$name>(),
                    members: &[$(Member {
                        doc: &[$($of_member),*],
                        name: stringify!($member),
                        kind: [$($cuda,)? stringify!($type)][0],
                    }),+],
                }
            ),+]);
        }
    };
}
pub(crate) use passed;

#[cfg(test)]
pub(crate) use tests::{Member, Structure, check};

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::fs;
    use std::path::Path;

    /// A structure, as it is to be in CUDA.
    pub(crate) struct Structure<'a> {
        pub(crate) doc: &'a [&'a str],
        /// 0 where nothing is said of it.
        pub(crate) align: u32,
        pub(crate) name: &'a str,
        pub(crate) bytes: usize,
        pub(crate) members: &'a [Member<'a>],
    }

    /// One of its members, of a type of either language.
    pub(crate) struct Member<'a> {
        pub(crate) doc: &'a [&'a str],
        pub(crate) name: &'a str,
        pub(crate) kind: &'a str,
    }

    /// Checks the header at a path below the kernels' folder, or writes it.
    pub(crate) fn check(path: &str, source: &str, structures: &[Structure<'_>]) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kernels").join(path);
        let expected = header(source, structures);
        if std::env::var_os("GIRIH_UPDATE_SNAPSHOTS").is_some() {
            fs::write(&file, &expected).unwrap();
        }
        let found = fs::read_to_string(&file).unwrap();
        assert_eq!(found, expected, "{path}: GIRIH_UPDATE_SNAPSHOTS=1 writes it anew");
    }

    fn header(source: &str, structures: &[Structure<'_>]) -> String {
        let source = source.replace('\\', "/");
        let (_, source) = source.split_once("/src/").unwrap();
        let mut text = format!(
            "// What the host passes, generated from {source}: change it there.\n#pragma once\n"
        );
        for Structure { doc, align, name, bytes, members } in structures {
            text.push('\n');
            doc.iter().for_each(|line| writeln!(text, "//{line}").unwrap());
            let align = if *align > 0 { format!("alignas({align}) ") } else { String::new() };
            writeln!(text, "struct {align}{name} {{").unwrap();
            for Member { doc, name, kind } in *members {
                doc.iter().for_each(|line| writeln!(text, "    //{line}").unwrap());
                writeln!(text, "    {};", declared(name, kind)).unwrap();
            }
            writeln!(text, "}};").unwrap();
            writeln!(
                text,
                "static_assert(sizeof({name}) == {bytes}, \"the host has {bytes} bytes\");"
            )
            .unwrap();
        }
        text
    }

    /// A member in CUDA: arrays are `[u32; 3]` in Rust and `u32[3]` in CUDA.
    fn declared(name: &str, kind: &str) -> String {
        if let Some((of, len)) =
            kind.strip_prefix('[').and_then(|it| it.strip_suffix(']')?.split_once("; "))
        {
            return format!("{} {name}[{len}]", in_cuda(of));
        }
        match kind.split_once('[') {
            Some((of, len)) => format!("{of} {name}[{len}"),
            None => format!("{} {name}", in_cuda(kind)),
        }
    }

    fn in_cuda(kind: &str) -> &str {
        match kind {
            "f32" => "float",
            "f64" => "double",
            "EncodedMap" => "ptx::TensorMap",
            "PlacedEpilogue" => "Epilogue",
            other => other,
        }
    }

    #[test]
    fn members_are_declared_as_cuda_has_them() {
        let all = [
            ("a", "u64"),
            ("b", "[f32; 4]"),
            ("c", "u32[4]"),
            ("d", "const Item*"),
            ("e", "EncodedMap"),
        ];
        let all = all.map(|(name, kind)| declared(name, kind));
        assert_eq!(all, ["u64 a", "float b[4]", "u32 c[4]", "const Item* d", "ptx::TensorMap e"]);
    }
}
