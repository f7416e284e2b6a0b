//! Calls that no transport makes, for measurements: the lock of one rank, and puts of numbers that
//! lie apart.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use mpi::ffi;

use super::super::{count, guarded_to, is_running, word};
use super::access::{Target, refused};
use super::{Call, Place, Window, check, constants, rank_number};
use crate::{CommError, Rank};

/// Bytes of a number.
const NUMBER: usize = size_of::<u64>();

/// Numbers of eight bytes at equal distances, as one datatype. MPI-3.1 section 4.1.2.
#[derive(Debug)]
pub(crate) struct Vector {
    raw: ffi::MPI_Datatype,
    numbers: usize,
    /// Bytes from the first number to the end of the last one.
    extent: usize,
}

impl Vector {
    /// Describes `numbers` numbers, the first of every `stride`.
    pub(crate) fn new(numbers: usize, stride: usize) -> Result<Self, CommError> {
        let call = "MPI_Type_vector";
        let extent =
            numbers.saturating_sub(1).checked_mul(stride).and_then(|last| (last + 1).checked_mul(NUMBER));
        let (Some(extent), true) = (extent, stride > 0 && numbers > 0) else {
            return Err(refused(
                call,
                format!(
                    "{numbers} numbers, one of every {stride}: both must be positive, and fit into memory"
                ),
            ));
        };
        let [many, stride] = [numbers, stride].map(|number| count(call, number));
        let (many, stride) = (many?, stride?);
        // SAFETY: the call writes a handle, which is committed and freed by `drop`.
        // Test: plain.
        unsafe {
            let mut raw = ffi::RSMPI_DATATYPE_NULL;
            check(call, ffi::MPI_Type_vector(many, 1, stride, word(), &raw mut raw))?;
            let vector = Self { raw, numbers, extent };
            check("MPI_Type_commit", ffi::MPI_Type_commit(&raw mut raw))?;
            Ok(vector)
        }
    }

    /// Returns the bytes of all numbers.
    pub(crate) fn bytes(&self) -> usize {
        self.numbers * NUMBER
    }
}

impl Drop for Vector {
    fn drop(&mut self) {
        if is_running() {
            // SAFETY: made by `new` and not freed yet; accesses under way keep what they need
            // (MPI-3.1 section 4.1.9).
            // Test: plain.
            unsafe { ffi::MPI_Type_free(&raw mut self.raw) };
        }
    }
}

impl Window {
    /// Begins exclusive access to one member's part. MPI-3.1 section 11.5.3.
    pub(crate) fn lock(&mut self, member: Rank) -> Result<(), CommError> {
        self.locate("MPI_Win_lock", Place { member, offset: 0 }, 0)?;
        let (how, number) = (constants::lock_exclusive(), rank_number(member));
        self.each(|made| {
            // SAFETY: a valid window and one of its ranks.
            // Test: plain.
            guarded_to(Call::MPI_Win_lock, member, || unsafe { ffi::MPI_Win_lock(how, number, 0, made.raw) })
        })
    }

    /// Ends the access that `lock` began; everything has arrived. MPI-3.1 section 11.5.3.
    pub(crate) fn unlock(&mut self, member: Rank) -> Result<(), CommError> {
        let number = rank_number(member);
        self.each(|made| {
            // SAFETY: a valid window; all accesses' memory obeys invariant 2; all were to this
            // member (callers ensure it).
            // Test: plain.
            guarded_to(Call::MPI_Win_unlock, member, || unsafe { ffi::MPI_Win_unlock(number, made.raw) })
        })?;
        self.completed();
        Ok(())
    }

    /// Puts numbers of an origin buffer, which arrive without gaps. MPI-3.1 section 11.3.1.
    pub(crate) fn put_vector(&mut self, i: usize, from: &Vector, to: Place) -> Result<(), CommError> {
        let Target { raw, number, member, at } = self.target("MPI_Put", to, from.bytes())?;
        if self.origins[i].bytes().len() < from.extent {
            return Err(refused("MPI_Put", format!("origin {i} is shorter than {}", from.extent)));
        }
        let (start, length) = (self.origins[i].bytes().as_ptr(), count("MPI_Put", from.numbers)?);
        self.origin_busy[i] = true;
        self.touch(number, to.member);
        // SAFETY: the origin holds the whole vector (checked) and stays untouched until the put is
        // complete (`origin_busy`); the target has room for all numbers (checked).
        // Test: plain.
        guarded_to(Call::MPI_Put, to.member, || unsafe {
            ffi::MPI_Put(start.cast(), 1, from.raw, member, at, length, word(), raw)
        })
    }
}
