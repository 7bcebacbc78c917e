//! Tables for people.

use std::fmt::Display;

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Table};

/// Spaces between columns.
const GAP: u16 = 2;

/// A table with a header; columns whose header begins with `>` are aligned right.
pub(crate) fn with_header<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut table = Table::new();
    table.set_header(header.map(|name| name.trim_start_matches('>')));
    table.add_rows(rows);
    for (i, name) in header.iter().enumerate() {
        if let (true, Some(column)) = (name.starts_with('>'), table.column_mut(i)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    render(table)
}

/// The same table in Markdown.
pub(crate) fn markdown<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |", cells.join(" | "))
    };
    let names = header.map(|name| name.trim_start_matches('>').to_owned());
    let rules = header.map(|name| if name.starts_with('>') { "---:" } else { "---" }.to_owned());
    let mut lines = vec![line(&names), line(&rules)];
    lines.extend(rows.into_iter().map(|row| line(&row)));
    lines.join("\n")
}

/// A table of names and values.
pub(crate) fn pairs<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut table = Table::new();
    for (name, value) in rows {
        table.add_row([Cell::new(name), Cell::new(value)]);
    }
    render(table)
}

/// Without lines, nothing before the first column, nothing after the last word of a row.
fn render(mut table: Table) -> String {
    table.load_preset(NOTHING);
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    table.trim_fmt()
}

/// A value, or a dash in its place.
pub(crate) fn optional(value: Option<impl Display>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| v.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_apart_and_lines_end_with_a_word() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["bb".to_owned(), "23".to_owned()]];
        assert_eq!(with_header(["x", ">count"], rows), "x   count\na       1\nbb     23");
        let rows = [vec!["a|b".to_owned(), "1".to_owned()]];
        let expected = "| x | count |\n| --- | ---: |\n| a\\|b | 1 |";
        assert_eq!(markdown(["x", ">count"], rows), expected);
        assert_eq!(pairs([("size", "3".to_owned())]), "size  3");
    }
}
