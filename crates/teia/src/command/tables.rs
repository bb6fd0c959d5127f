//! The tables of the five systems that Teia joins, for `teia stats --tables` and `teia export csv`.

use anyhow::Result;
use teia_base::measure::format_size;
use teia_catalog::{Cell, Statistic};
use teia_engine::nearest;

use super::Usage;
use crate::show::{Width, cut, group, outln};

/// The one that is asked for.
pub(crate) fn named(tables: Vec<Statistic>, name: &str) -> Result<Statistic> {
    let names: Vec<&'static str> = tables.iter().map(|table| table.name).collect();
    let found = tables.into_iter().find(|table| table.name == name);
    found.ok_or_else(|| {
        let near = nearest(name, &names);
        let meant = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        Usage(format!(
            "there is no table `{name}`{meant} There are: {}",
            names.join(", ")
        ))
        .into()
    })
}

/// Prints tables, each below its title.
pub(crate) fn print(tables: &[Statistic], width: Width) -> Result<()> {
    for table in tables {
        let like = match table.like {
            "" => String::new(),
            like => format!(" ({like})"),
        };
        outln!()?;
        for line in width.wrap(&format!("{}{like}", table.title)) {
            outln!("{line}")?;
        }
        print_one(table, width)?;
    }
    Ok(())
}

fn print_one(table: &Statistic, width: Width) -> Result<()> {
    let is_size = |at: usize| table.columns[at] == "bytes";
    let header: Vec<String> = table
        .columns
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    let shown = table.all_rows().map(|row| {
        let cells = row.iter().enumerate();
        cells
            .map(|(at, cell)| for_people(cell, is_size(at)))
            .collect()
    });
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(shown).collect();
    let longest = |at: usize| {
        let lengths = lines.iter().map(|line| line[at].chars().count());
        lengths.max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..table.columns.len()).map(longest).collect();
    let is_text = |at: usize| {
        let first = table.rows.first().map(|row| &row[at]);
        matches!(first, Some(Cell::Text(_)))
    };
    // The first column of words gives way on a narrow terminal.
    if let Some(words) = (0..widths.len()).find(|at| is_text(*at)) {
        let others: usize = widths.iter().sum::<usize>() - widths[words] + 2 * widths.len();
        widths[words] = width.left_of(others, widths[words]);
    }
    for line in &lines {
        let mut text = String::from(" ");
        for (at, cell) in line.iter().enumerate() {
            let (cell, width) = (cut(cell, widths[at]), widths[at]);
            if is_text(at) {
                text.push_str(&format!(" {cell:<width$} "));
            } else {
                text.push_str(&format!(" {cell:>width$} "));
            }
        }
        outln!("{}", text.trim_end())?;
    }
    Ok(())
}

fn for_people(cell: &Cell, is_size: bool) -> String {
    match cell {
        Cell::Count(count) => match u64::try_from(*count) {
            Ok(bytes) if is_size => format_size(bytes),
            Ok(count) => group(count),
            Err(_) => count.to_string(),
        },
        cell => cell.plain(),
    }
}
