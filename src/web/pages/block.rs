//! What a page consists of: sections of lines, numbers, tables, pictures and forms. One template makes all of them HTML, so
//! that each table has its caption and each picture its words.

use crate::api::{csv_cell, quoted_csv_cell};

use super::super::pictures::Picture;
use super::piece::{Cell, Piece, words_of};

/// Largest number of rows of a table. The rest is counted.
pub(super) const MOST_ROWS: usize = 500;

/// Columns whose numbers stand in CSV in another unit than on the page, which their heads there name.
const HEADS_IN_CSV: [(&str, &str); 9] = [
    ("Took", "Took, ms"),
    ("Since", "Waited, ms"),
    ("Held for", "Held for, ms"),
    ("Runs for", "Runs for, ms"),
    ("Left", "Left, ms"),
    ("Last heartbeat", "Last heartbeat before, ms"),
    ("Map slot hours", "Map slot seconds"),
    ("Reduce slot hours", "Reduce slot seconds"),
    ("Container slot hours", "Container slot seconds"),
];

/// A section: a part of a page that is asked for by its id, too.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) title: String,
    pub(super) blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Block {
    Line(Cell),
    /// A line that asks for attention.
    Complaint(Cell),
    /// Numbers with their names.
    Summary(Vec<(&'static str, Cell)>),
    List(Vec<Cell>),
    /// Words of a client, whole.
    Words(String),
    Commands(Vec<String>),
    Table(Table),
    Picture(Picture),
    /// A form that asks for a page.
    Form(Form),
}

/// A table; the first cell of a row is its head.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) caption: String,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// Rows that are not shown.
    pub(super) left_out: u64,
    /// In place of a table without rows.
    pub(super) empty: Cell,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Column {
    pub(super) label: &'static str,
    pub(super) is_number: bool,
    /// The address of the same page in the order of this column.
    pub(super) sort: Option<SortLink>,
}

/// How a column is in order, and the address that changes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SortLink {
    pub(super) to: String,
    /// `ascending`, `descending` or `none`.
    pub(super) order: &'static str,
}

/// A form whose fields are parameters of an address, or of what is sent there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Form {
    pub(super) action: String,
    pub(super) label: &'static str,
    pub(super) fields: Vec<Field>,
    pub(super) button: &'static str,
    /// Whether its fields are sent by POST.
    pub(super) is_sent: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) value: String,
    /// What may be chosen; empty: any text.
    pub(super) choices: &'static [&'static str],
    /// Whether it holds several lines.
    pub(super) has_lines: bool,
    /// Whether it is sent and not shown.
    pub(super) is_hidden: bool,
}

impl Field {
    pub(super) fn text(name: &'static str, label: &'static str, value: impl Into<String>) -> Self {
        Self { name, label, value: value.into(), ..Self::default() }
    }

    pub(super) fn choice(
        name: &'static str,
        label: &'static str,
        value: impl Into<String>,
        choices: &'static [&'static str],
    ) -> Self {
        Self { choices, ..Self::text(name, label, value) }
    }
}

impl Section {
    pub(super) fn new(id: &'static str, title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self { id, title: title.into(), blocks }
    }

    pub(super) fn table(&self) -> Option<&Table> {
        self.blocks.iter().find_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        })
    }
}

impl Block {
    /// Words of a client, whole.
    pub(super) fn words(text: &str) -> Self {
        Self::Words(words_of(text))
    }

    pub(super) fn line(text: impl Into<String>) -> Self {
        Self::Line(vec![Piece::text(text)])
    }
}

impl Table {
    pub(super) fn new(caption: impl Into<String>, columns: Vec<Column>, rows: Vec<Vec<Cell>>) -> Self {
        Self { caption: caption.into(), columns, rows, left_out: 0, empty: vec![Piece::text("There are none.")] }
    }

    /// The same with words for where it has no rows.
    pub(super) fn or_empty(self, empty: Cell) -> Self {
        Self { empty, ..self }
    }

    /// The same with at most [`MOST_ROWS`] rows.
    pub(super) fn cut(mut self) -> Self {
        self.left_out += self.rows.len().saturating_sub(MOST_ROWS) as u64;
        self.rows.truncate(MOST_ROWS);
        self
    }

    /// As lines of CSV. What a spreadsheet would take for a formula gets a `'` before it.
    pub(super) fn csv(&self) -> String {
        let mut lines =
            vec![self.columns.iter().map(|column| harmless_cell(column.head_in_csv())).collect::<Vec<_>>().join(",")];
        for row in &self.rows {
            let cells = row.iter().map(|cell| harmless_cell(&plain(cell)));
            lines.push(cells.collect::<Vec<_>>().join(","));
        }
        lines.join("\r\n") + "\r\n"
    }
}

pub(super) fn plain(cell: &[Piece]) -> String {
    let texts: Vec<String> = cell.iter().map(Piece::plain).collect();
    texts.join("").trim().to_owned()
}

fn harmless_cell(text: &str) -> String {
    if text.contains(' ') { quoted_csv_cell(text) } else { csv_cell(text) }
}

impl Column {
    pub(super) const fn text(label: &'static str) -> Self {
        Self { label, is_number: false, sort: None }
    }

    pub(super) const fn number(label: &'static str) -> Self {
        Self { label, is_number: true, sort: None }
    }

    pub(super) fn head_in_csv(&self) -> &'static str {
        HEADS_IN_CSV.iter().find(|(label, _)| *label == self.label).map_or(self.label, |(_, head)| head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_spreadsheet_would_run_is_a_text_in_csv() {
        let row = vec![
            vec![Piece::foreign("=cmd|' /C calc'!A0")],
            vec![Piece::number("n", 5)],
            vec![Piece::foreign("a\"b,\r\nc")],
        ];
        let table =
            Table::new("t", vec![Column::text("Job"), Column::number("Maps done"), Column::text("Took")], vec![row]);
        assert_eq!(
            table.csv(),
            "Job,\"Maps done\",\"Took, ms\"\r\n\"'=cmd|' /C calc'!A0\",5,\"a\"\"b,\u{240d} c\"\r\n"
        );
    }
}
