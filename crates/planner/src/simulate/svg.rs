//! A timeline, drawn.

use std::fmt::Write;

use super::Replay;

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 48.0;
/// All lanes together; a lane is never thinner than one pixel.
const HEIGHT: f64 = 480.0;
const COLORS: [&str; 2] = ["#2f6f8f", "#7fb2c9"];
const SECOND_PASS: &str = "#c98a3f";

/// An SVG drawing of a replay: a lane for each worker, time from left to right, tasks in alternating
/// shades, the second pass in a colour of its own, waiting left empty.
///
/// Tasks that share a pixel are drawn as one, so that the drawing stays small.
#[must_use]
pub fn svg(replay: &Replay, title: &str) -> String {
    let lane = (HEIGHT / replay.workers as f64).clamp(1.0, 24.0);
    let height = lane * replay.workers as f64;
    let scale = if replay.makespan > 0.0 { WIDTH / replay.makespan } else { 0.0 };
    let (w, h) = (WIDTH + 2.0 * MARGIN, height + 2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<text x=\"{MARGIN}\" y=\"20\">{}</text>\n\
         <text x=\"{MARGIN}\" y=\"36\">{} workers, {:.1} % idle, {:.3} times the even share</text>\n",
        escaped(title),
        replay.workers,
        100.0 * replay.idle_share(),
        replay.imbalance()
    );
    let second = replay.second_pass.unwrap_or(replay.spans.len());
    // Per worker, where the rectangle being grown begins and ends, and its colour.
    let mut open: Vec<Option<(f64, f64, &str)>> = vec![None; replay.workers];
    for (i, span) in replay.spans.iter().enumerate() {
        let color = if i >= second { SECOND_PASS } else { COLORS[span.task % COLORS.len()] };
        let (start, end) = (span.start * scale, span.end * scale);
        let grown = &mut open[span.worker];
        match grown {
            Some((from, upto, _)) if end - *from < 1.0 && start - *upto < 1.0 => *upto = end,
            _ => {
                if let Some(rect) = grown.take() {
                    draw(&mut out, span.worker, lane, rect);
                }
                *grown = Some((start, end, color));
            }
        }
    }
    for (worker, rect) in open.into_iter().enumerate() {
        if let Some(rect) = rect {
            draw(&mut out, worker, lane, rect);
        }
    }
    let _ = writeln!(
        out,
        "<rect x=\"{MARGIN}\" y=\"{MARGIN}\" width=\"{WIDTH}\" height=\"{height:.1}\" fill=\"none\" \
         stroke=\"#888\"/>\n</svg>"
    );
    out
}

fn draw(out: &mut String, worker: usize, lane: f64, (from, upto, color): (f64, f64, &str)) {
    let (x, y) = (MARGIN + from, MARGIN + lane * worker as f64);
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{color}\"/>",
        (upto - from).max(0.05),
        lane * 0.9
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
