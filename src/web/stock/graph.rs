//! The progress of tasks as bars (1.2.1 `TaskGraphServlet`), in our colours.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;

use crate::model::{JobId, Kind};

use super::super::owner::Owner;
use super::super::response::fresh;
use super::super::state::WebState;
use super::access::{found, viewer};
use super::data::StockGraph;
use super::request::{PageAnswer, PageRequest};

/// Size of the plot, and what is left around it.
const WIDTH: u32 = 600;
const HEIGHT: u32 = 200;
const X_MARGIN: u32 = 80;
const Y_MARGIN: u32 = 20;
const WIDEST: u32 = 10;
const MARKS: u32 = 10;
/// Colours of the phases of a reduce, the last one of maps too.
const COLOURS: [&str; 3] = ["#00a084", "#f35532", "#3357d6"];
const PHASES: [&str; 3] = ["copy", "sort", "reduce"];

/// How the picture is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PictureFrame {
    /// A document of its own.
    Document,
    /// A part of a page.
    Inline,
}

/// The picture; empty where there are no tasks.
pub(super) fn picture(graph: &StockGraph, kind: Kind, frame: PictureFrame) -> String {
    let mut svg = String::new();
    // Writing to a text does not fail.
    let _ = draw(&mut svg, graph, kind, frame);
    svg
}

fn draw(svg: &mut String, graph: &StockGraph, kind: Kind, frame: PictureFrame) -> fmt::Result {
    let groups = u32::try_from(graph.groups.len()).unwrap_or(WIDTH);
    if groups == 0 && frame == PictureFrame::Document {
        return Ok(());
    }
    let bar = (WIDTH / groups.max(1)).clamp(1, WIDEST);
    let plot = WIDTH + groups;
    let (width, height) = (plot + 2 * X_MARGIN, HEIGHT + 2 * Y_MARGIN);
    let what = match kind {
        Kind::Map => "Map completion",
        Kind::Reduce => "Reduce completion",
    };
    match frame {
        PictureFrame::Document => write!(
            svg,
            "<?xml version=\"1.0\" standalone=\"no\"?>\n<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \n\
             \"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">\n\
             <?xml-stylesheet type=\"text/css\" href=\"/static/hadoop.css\"?>\n\n\
             <svg width=\"{width}\" height=\"{height}\" version=\"1.1\"\nxmlns=\"http://www.w3.org/2000/svg\">\n\n"
        )?,
        PictureFrame::Inline => writeln!(
            svg,
            "<svg class=\"taskgraph\" role=\"img\" aria-label=\"{what}\" viewBox=\"0 0 {width} {height}\">"
        )?,
    }
    let (left, right) = (X_MARGIN - 1, X_MARGIN + plot + 1);
    let (top, bottom) = (Y_MARGIN - 1, Y_MARGIN + HEIGHT + 1);
    line(svg, (left, left), (bottom, top), "black")?;
    line(svg, (left, right), (bottom, bottom), "black")?;
    line(svg, (right, right), (bottom, top), "#CCCCCC")?;
    line(svg, (left, right), (top, top), "#CCCCCC")?;
    let step = groups.div_ceil(MARKS).max(1);
    for place in 0..=groups {
        let x = X_MARGIN + place * (bar + 1);
        if place.is_multiple_of(step) {
            line(svg, (x, x), (bottom + 2, bottom - 3), "black")?;
            text(svg, (x, HEIGHT + Y_MARGIN + 15), &(place * graph.per_group).min(graph.tasks).to_string(), "middle")?;
        }
        if let Some(phases) = graph.groups.get(place as usize) {
            bars(svg, kind, (x, bar), phases)?;
        }
    }
    for mark in 0..=MARKS {
        let y = Y_MARGIN + mark * HEIGHT / MARKS;
        line(svg, (X_MARGIN - 3, X_MARGIN + 2), (y, y), "black")?;
        text(svg, (X_MARGIN - 10, y + 4), &(100 - mark * 100 / MARKS).to_string(), "end")?;
    }
    if kind == Kind::Reduce {
        for ((phase, colour), y) in PHASES.into_iter().zip(COLOURS).zip([40, 70, 100]) {
            rect(svg, (14, 14), (X_MARGIN + plot + 4, y), colour)?;
            text(svg, (X_MARGIN + plot + 24, y + 10), phase, "start")?;
        }
    }
    svg.write_str("</svg>")
}

/// The bars of a group, one on the other.
fn bars(svg: &mut String, kind: Kind, (x, width): (u32, u32), phases: &[f32; 3]) -> fmt::Result {
    match kind {
        Kind::Map => {
            let height = (phases[0].clamp(0.0, 1.0) * HEIGHT as f32).ceil() as u32;
            rect(svg, (width, height), (x, Y_MARGIN + HEIGHT - height), COLOURS[2])
        }
        Kind::Reduce => {
            let mut y = Y_MARGIN + HEIGHT;
            for (part, colour) in phases.iter().zip(COLOURS) {
                // A part that is nearly whole is drawn a third of the plot high, rounded up.
                let height = match (part.clamp(0.0, 1.0) * (HEIGHT / 3) as f32) as u32 {
                    nearly if nearly > HEIGHT / 3 - 3 => HEIGHT / 3 + 1,
                    height => height,
                };
                y -= height;
                rect(svg, (width, height), (x, y), colour)?;
            }
            Ok(())
        }
    }
}

fn rect(svg: &mut String, (width, height): (u32, u32), (x, y): (u32, u32), colour: &str) -> fmt::Result {
    match height {
        0 => Ok(()),
        _ => writeln!(svg, "<rect width=\"{width}\" height=\"{height}\" x=\"{x}\" y=\"{y}\" fill=\"{colour}\"/>"),
    }
}

fn line(svg: &mut String, (x1, x2): (u32, u32), (y1, y2): (u32, u32), colour: &str) -> fmt::Result {
    writeln!(svg, "<line x1=\"{x1}\" x2=\"{x2}\" y1=\"{y1}\" y2=\"{y2}\" class=\"taskgraphline\" stroke=\"{colour}\"/>")
}

fn text(svg: &mut String, (x, y): (u32, u32), words: &str, anchor: &str) -> fmt::Result {
    writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" fill=\"black\" font-family=\"sans-serif\" text-anchor=\"{anchor}\">{words}</text>"
    )
}

/// The content type of the picture.
const SVG: &str = "image/svg+xml; charset=utf-8";

/// Answers `/taskgraph`: an empty body where there is nothing to draw, as 1.2.1.
pub(super) async fn taskgraph<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let id: Option<JobId> = asked.parsed("jobid", "the id of a job")?;
    let kind = match asked.get("type") {
        Some(kind) if kind.eq_ignore_ascii_case("map") => Kind::Map,
        _ => Kind::Reduce,
    };
    let svg = match id {
        None => String::new(),
        Some(id) => {
            let job = found(state.owner.stock_job(id, viewer(&state, &asked)?), asked.user(), id).await?;
            job.map(|job| picture(&job.graphs[kind], kind, PictureFrame::Document)).unwrap_or_default()
        }
    };
    Ok(fresh(StatusCode::OK, SVG, svg))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bars_stand_where_hadoops_stand() {
        let graph = StockGraph { tasks: 6, per_group: 1, groups: vec![[1.0, 0.0, 0.0], [0.5, 0.0, 0.0]] };
        let graph = StockGraph { groups: [graph.groups, vec![[0.0; 3]; 4]].concat(), ..graph };
        let svg = picture(&graph, Kind::Map, PictureFrame::Document);
        for part in [
            "<svg width=\"766\" height=\"240\"",
            "<line x1=\"687\" x2=\"687\" y1=\"221\" y2=\"19\"",
            "<rect width=\"10\" height=\"200\" x=\"80\" y=\"20\"",
            "<rect width=\"10\" height=\"100\" x=\"91\" y=\"120\"",
            "<text x=\"146\" y=\"235\"",
        ] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert_eq!(svg.matches("<rect").count(), 2);
    }

    #[test]
    fn the_phases_of_a_reduce_stand_on_each_other_as_hadoops_do() {
        let bars = |phases| {
            let graph = StockGraph { tasks: 1, per_group: 1, groups: vec![phases] };
            let svg = picture(&graph, Kind::Reduce, PictureFrame::Document);
            svg.lines().filter(|line| line.contains("x=\"80\" y=") && line.starts_with("<rect")).count()
        };
        let graph = StockGraph { tasks: 1, per_group: 1, groups: vec![[1.0, 1.0, 1.0]] };
        let svg = picture(&graph, Kind::Reduce, PictureFrame::Document);
        for y in [153, 86, 19] {
            let bar = format!("<rect width=\"10\" height=\"67\" x=\"80\" y=\"{y}\"");
            assert!(svg.contains(&bar), "{bar} in {svg}");
        }
        assert_eq!(bars([1.0, 0.5, 0.0]), 2);
    }

    #[test]
    fn a_job_without_reduces_has_no_picture_of_them() {
        assert_eq!(picture(&StockGraph::default(), Kind::Reduce, PictureFrame::Document), "");
    }

    #[test]
    fn many_tasks_share_bars() {
        let graph = StockGraph { tasks: 600_000, per_group: 1_000, groups: vec![[1.0; 3]; 600] };
        let svg = picture(&graph, Kind::Reduce, PictureFrame::Inline);
        // Three phases a group, three in the key.
        assert_eq!(svg.matches("<rect").count(), 3 * 600 + 3);
        assert!(svg.contains(">600000</text>"), "the last mark counts tasks, not groups");
    }
}
