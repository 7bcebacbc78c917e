//! Formats by name, with their sizes as [`FormatSpec`] prints them.

use girih::{FormatChoice, FormatKind, FormatSpec};

use crate::error::Outcome;

/// `auto`, `csr`, `bmat`, `two-four`, `bcsr 64x32`, `wcsr 16/8` or `blocked-ell 64x64`.
pub(crate) fn parse(name: &str) -> Outcome<FormatChoice> {
    if name == "auto" {
        return Ok(FormatChoice::Auto);
    }
    let (kind, sizes) = name.split_once(' ').map_or((name, None), |(kind, s)| (kind, Some(s)));
    let kind: FormatKind = kind.parse()?;
    let pair = |separator: char| -> Outcome<(usize, usize)> {
        let (first, second) = sizes
            .and_then(|sizes| sizes.split_once(separator))
            .ok_or_else(|| format!("{name:?} lacks its sizes, as in \"{kind} 16{separator}8\""))?;
        Ok((first.parse()?, second.parse()?))
    };
    let spec = match kind {
        FormatKind::Bcsr => {
            let (block_rows, block_cols) = pair('x')?;
            FormatSpec::Bcsr { block_rows, block_cols }
        }
        FormatKind::Wcsr => {
            let (window_rows, pad_cols) = pair('/')?;
            FormatSpec::Wcsr { window_rows, pad_cols }
        }
        FormatKind::BlockedEll => match pair('x')? {
            (rows, cols) if rows == cols => FormatSpec::BlockedEll { block_size: rows },
            _ => return Err(format!("{name:?}: blocks of Blocked-ELL are square").into()),
        },
        FormatKind::Hybrid => {
            let (window_rows, rest) = sizes
                .and_then(|sizes| sizes.split_once('/'))
                .ok_or_else(|| format!("{name:?} lacks its sizes, as in \"{kind} 16/8/12\""))?;
            let (pad_cols, tile_entries) =
                rest.split_once('/').ok_or_else(|| format!("{name:?} has two sizes of three"))?;
            FormatSpec::Hybrid {
                window_rows: window_rows.parse()?,
                pad_cols: pad_cols.parse()?,
                tile_entries: tile_entries.parse()?,
            }
        }
        _ if sizes.is_some() => return Err(format!("{kind} takes no sizes, as in {name:?}").into()),
        FormatKind::Csr => FormatSpec::Csr,
        FormatKind::BMat => FormatSpec::BMat { pattern_only: false },
        FormatKind::TwoFour => FormatSpec::TwoFour,
    };
    Ok(FormatChoice::Fixed(spec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_formats_print() {
        for name in [
            "csr",
            "bmat",
            "two-four",
            "bcsr 64x32",
            "wcsr 16/8",
            "blocked-ell 64x64",
            "hybrid 16/8/12",
        ] {
            let Ok(FormatChoice::Fixed(spec)) = parse(name) else { panic!("{name}") };
            assert_eq!(spec.to_string(), name);
        }
        assert_eq!(parse("auto").unwrap(), FormatChoice::Auto);
    }

    #[test]
    fn other_names_are_errors() {
        for name in
            ["", "coo", "bcsr", "bcsr 8", "bcsr 8/8", "wcsr x/8", "csr 8x8", "blocked-ell 8x4"]
        {
            assert!(parse(name).is_err(), "{name}");
        }
    }
}
