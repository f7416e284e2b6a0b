//! Compiles the C shim for MPI's constants with the MPI library that mpi-sys finds, in the way
//! mpi-sys does.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "mpi")]
    shim();
}

/// The library itself is linked by mpi-sys.
#[cfg(feature = "mpi")]
fn shim() {
    const SOURCE: &str = "src/mpi/ffi/mdcomm_shim.c";
    println!("cargo:rerun-if-changed={SOURCE}");
    println!("cargo:rerun-if-env-changed=MPICC");
    let library = match build_probe_mpi::probe() {
        Ok(library) => library,
        Err(reasons) => {
            let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
            panic!("no MPI library found: {}", reasons.join("; "));
        }
    };
    let mut compiler = cc::Build::new();
    compiler.file(SOURCE);
    match library.mpicc {
        Some(mpicc) => {
            compiler.compiler(mpicc);
        }
        None => {
            compiler.includes(&library.include_paths);
        }
    }
    compiler.compile("mdcomm_shim");
}
