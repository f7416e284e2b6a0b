//! x
mod support;
use support::{Backend, Run};

#[test]
fn t() {
    let out = Run::new(
        "forces",
        "[simulation]\nsteps=1\n[system]\nlattice={kind=\"fcc\",density=0.8442,cells=[6,6,6]}\n",
    )
    .on(Backend::Local, 2)
    .succeed();
    println!("{} {:?}", out.summary(), out.forces()[3]);
    let out = Run::new(
        "forces",
        "[simulation]\nsteps=1\n[system]\nlattice={kind=\"fcc\",density=0.8442,cells=[6,6,6]}\n",
    )
    .on(Backend::P2p, 2)
    .succeed();
    println!("{}", out.report());
}
