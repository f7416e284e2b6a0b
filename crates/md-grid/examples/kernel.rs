#![allow(warnings)]
use std::time::{Duration, Instant};
use md_comm::{Buffering, local};
use md_core::{Threads, simd::SimdLevel};
use md_engine::clock::PhaseClock;
use md_grid::lbm::*;
use md_grid::{Decomposition, Edges, Layout, Messages};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: usize = args[1].parse().unwrap();
    if let Ok(a) = std::env::var("AHEAD") { AHEAD_KNOB.store(a.parse().unwrap(), std::sync::atomic::Ordering::Relaxed); }
    let two = args[2] == "two";
    let stores = match args.get(3).map(|s| s.as_str()) { Some("past") => Some(Stores::PastCaches), Some("in") => Some(Stores::Ordinary), _ => None };
    let steps = (40_000_000 / (n*n*n)).max(10) / 2 * 2;
    local::run(1, Duration::from_secs(600), |world| {
        let grid = Decomposition::new([n;3], 1, None, [Edges::Periodic;3]).unwrap();
        let block = grid.block(0);
        let mask = Mask::fluid(Layout::new(block.size, [1;3]).unwrap()).unwrap();
        let options = FlowOptions { collision: Collision::Bgk, viscosity: 0.0416666, body_force: [0.0;3], wall_velocities: Default::default(),
            pattern: if two { Pattern::TwoGrid } else { Pattern::SingleGrid }, stores, crossing: Crossing::Direct, overlap: Overlap::InnerNodes,
            messages: Messages::Aggregated, buffering: Buffering::Double, simd: SimdLevel::detect(), threads: Threads::new(1).unwrap() };
        let mut flow = Flow::<f64>::new(world, &grid, mask, options, |node| FlowState { velocity: [0.0, 0.01*(node[0] as f64).sin(), 0.0], ..Default::default() }).unwrap();
        let mut clock = PhaseClock::default();
        for _ in 0..2 { flow.step(&mut clock).unwrap(); }
        let mut best = 0.0f64; let mut all = vec![];
        for _ in 0..3 {
            let t = Instant::now();
            for _ in 0..steps { flow.step(&mut clock).unwrap(); }
            all.push((n*n*n*steps) as f64 / t.elapsed().as_secs_f64() / 1e6);
        }
        all.sort_by(f64::total_cmp);
        println!("{:.1} ({:.1} {:.1})", all[1], all[0], all[2]);
    });
}
