//! Fixed data for the tests of outputs.

use md_core::SymmetricTensor;
use md_engine::Thermo;

pub(super) fn thermo_rows() -> [Thermo; 2] {
    let start = Thermo {
        step: 0,
        time: 0.0,
        temperature: 1.44,
        potential_per_atom: -6.773368053259247,
        kinetic_per_atom: 2.1599325,
        total_per_atom: -4.613435553259247,
        pressure: -5.019707296,
        pressure_tensor: SymmetricTensor([-5.0, -5.0, -5.059121888, 0.25, 0.0, -0.125]),
        volume: 4738.213693,
        lengths: [16.795961913825074; 3],
        density: 0.8442,
        conserved_per_atom: -4.613435553259247,
    };
    let end = Thermo {
        step: 100,
        time: 0.5,
        temperature: 0.7574531,
        potential_per_atom: -5.7585055,
        kinetic_per_atom: 1.136144,
        total_per_atom: -4.6223615,
        pressure: 0.20726105,
        conserved_per_atom: -4.6223615,
        ..start
    };
    [start, end]
}
