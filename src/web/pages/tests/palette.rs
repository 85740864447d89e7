//! The colours of the style sheet: contrasts by WCAG 2.2, distances by CIEDE2000 as seen with normal and with three kinds of
//! limited colour vision (Machado, Oliveira and Fernandes 2009, severity 1).

use std::f64::consts::PI;

const STYLE: &str = include_str!("../../../../static/jobtracker.css");
const STATES: [&str; 6] = ["waiting", "running", "succeeded", "failed", "killed", "preempted"];

type Rgb = [f64; 3];

const VISIONS: [[Rgb; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
];

/// The two values of a colour, linear: of the light and of the dark theme.
fn colours(name: &str) -> [Rgb; 2] {
    let line = STYLE
        .lines()
        .find(|line| line.trim_start().starts_with(&format!("--{name}: ")))
        .unwrap_or_else(|| panic!("{name}"));
    let values: Vec<Rgb> = line.split('#').skip(1).map(|text| linear(&text[..6])).collect();
    [values[0], values[1]]
}

fn linear(hex: &str) -> Rgb {
    std::array::from_fn(|place| {
        let value = f64::from(u8::from_str_radix(&hex[2 * place..2 * place + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    })
}

fn seen(colour: Rgb, vision: &[Rgb; 3]) -> Rgb {
    std::array::from_fn(|row| (0..3).map(|column| vision[row][column] * colour[column]).sum::<f64>().clamp(0.0, 1.0))
}

fn luminance([red, green, blue]: Rgb) -> f64 {
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn lab([red, green, blue]: Rgb) -> [f64; 3] {
    let xyz = [
        (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047,
        0.2126729 * red + 0.7151522 * green + 0.0721750 * blue,
        (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883,
    ];
    let [x, y, z] = xyz.map(|value| if value > 0.008_856 { value.cbrt() } else { 7.787 * value + 16.0 / 116.0 });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// CIEDE2000 of two colours in Lab (Sharma, Wu and Dalal 2005).
fn distance([l1, a1, b1]: [f64; 3], [l2, a2, b2]: [f64; 3]) -> f64 {
    let mean_c7 = ((a1.hypot(b1) + a2.hypot(b2)) / 2.0).powi(7);
    let g = 0.5 * (1.0 - (mean_c7 / (mean_c7 + 25_f64.powi(7))).sqrt());
    let (a1, a2) = (a1 * (1.0 + g), a2 * (1.0 + g));
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let hue = |a: f64, b: f64| if a == 0.0 && b == 0.0 { 0.0 } else { b.atan2(a).rem_euclid(2.0 * PI) };
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));
    let turn = match h2 - h1 {
        _ if c1 * c2 == 0.0 => 0.0,
        turn if turn > PI => turn - 2.0 * PI,
        turn if turn < -PI => turn + 2.0 * PI,
        turn => turn,
    };
    let (dl, dc, dh) = (l2 - l1, c2 - c1, 2.0 * (c1 * c2).sqrt() * (turn / 2.0).sin());
    let (l, c) = ((l1 + l2) / 2.0, (c1 + c2) / 2.0);
    let h = match (h1 - h2).abs() {
        _ if c1 * c2 == 0.0 => h1 + h2,
        apart if apart <= PI => (h1 + h2) / 2.0,
        _ if h1 + h2 < 2.0 * PI => (h1 + h2) / 2.0 + PI,
        _ => (h1 + h2) / 2.0 - PI,
    };
    let t = 1.0 - 0.17 * (h - PI / 6.0).cos() + 0.24 * (2.0 * h).cos() + 0.32 * (3.0 * h + PI / 30.0).cos()
        - 0.20 * (4.0 * h - 63.0 * PI / 180.0).cos();
    let sl = 1.0 + 0.015 * (l - 50.0).powi(2) / (20.0 + (l - 50.0).powi(2)).sqrt();
    let (sc, sh) = (1.0 + 0.045 * c, 1.0 + 0.015 * c * t);
    let theta = PI / 6.0 * (-((h.to_degrees() - 275.0) / 25.0).powi(2)).exp();
    let rt = -2.0 * (c.powi(7) / (c.powi(7) + 25_f64.powi(7))).sqrt() * (2.0 * theta).sin();
    ((dl / sl).powi(2) + (dc / sc).powi(2) + (dh / sh).powi(2) + rt * (dc / sc) * (dh / sh)).sqrt()
}

#[test]
fn distances_are_those_of_the_published_pairs() {
    let pairs = [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, -1.3802, -84.2814], [50.0, 0.0, -82.7485], 1.0),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
        ([22.7233, 20.0904, -46.6940], [23.0331, 14.9730, -42.5619], 2.0373),
    ];
    for (one, other, published) in pairs {
        assert!((distance(one, other) - published).abs() < 1e-4, "{published}: {}", distance(one, other));
    }
}

#[test]
fn colours_stand_out_from_the_ground_and_from_each_other_for_all_eyes() {
    let queues: [String; 6] = std::array::from_fn(|place| format!("q{place}"));
    let sets = [STATES.map(|state| format!("s-{state}")), queues];
    for (set, theme) in sets.iter().flat_map(|set| [(set, 0), (set, 1)]) {
        for ground in ["ground", "surface"] {
            for name in set {
                let contrast = contrast(colours(name)[theme], colours(ground)[theme]);
                assert!(contrast >= 3.0, "{name} on {ground}, theme {theme}: {contrast:.2}");
            }
        }
        for (place, one) in set.iter().enumerate() {
            for other in &set[place + 1..] {
                for vision in &VISIONS {
                    let of = |name: &str| lab(seen(colours(name)[theme], vision));
                    let apart = distance(of(one), of(other));
                    assert!(apart >= 12.0, "{one} and {other}, theme {theme}: {apart:.1}");
                }
            }
        }
    }
}

#[test]
fn words_can_be_read() {
    for (name, theme) in
        ["text", "faint", "link", "good", "bad", "busy"].into_iter().flat_map(|name| [(name, 0), (name, 1)])
    {
        for ground in ["ground", "surface"] {
            let contrast = contrast(colours(name)[theme], colours(ground)[theme]);
            assert!(contrast >= 4.5, "{name} on {ground}, theme {theme}: {contrast:.2}");
        }
    }
}
