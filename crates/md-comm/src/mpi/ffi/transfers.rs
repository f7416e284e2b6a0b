//! Point-to-point requests together with the buffers they use.
//!
//! A message travels as one request, or as several consecutive ones, one per piece of its buffer:
//! they have one tag and do not overtake each other (MPI-3.1 section 3.5), so that both ends find
//! the same pieces if they agree on the size.
//!
//! Invariant: while a request of message `i` is active (`under_way > 0`), its buffer is neither
//! moved in memory, resized, nor handed out. (Moving the `Transfers` value moves only the vectors'
//! headers, not the blocks MPI points to.)
//!
//! The path of a whole message with a request of its own is inlined, up to the library's call: each
//! further function call takes measurable time beside a small message. Code for other messages is
//! not inlined.
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::c_int;
use std::iter::repeat_n;
use std::marker::PhantomData;
use std::ops::Range;

use mpi::ffi;

pub(crate) use self::ending::Cancelled;
use self::persistent::Envelope;
use crate::mpi::ffi::{
    Communicator, blank_status, byte, check, count, error_text, ignored_status, null_request,
};
use crate::{AlignedBuffer, CommError, Rank};

mod ending;
mod persistent;

/// Most pieces of one message. More would cost the library more than they could gain, because it
/// searches through everything under way.
const MOST_PIECES: usize = 64;

/// Direction of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Out,
    In,
}

impl Way {
    /// Returns the name of the call that begins a message, for errors.
    fn call(self) -> &'static str {
        match self {
            Self::Out => "MPI_Isend",
            Self::In => "MPI_Irecv",
        }
    }
}

/// A numbered set of buffers, each with at most one pending message.
#[derive(Debug)]
pub(crate) struct Transfers {
    way: Way,
    messages: Vec<Message>,
    /// Whether a message is always as long as what was posted for it.
    exact: bool,
    requests: Vec<ffi::MPI_Request>,
    /// State of each request.
    states: Vec<RequestState>,
    /// The request that was the last active one at the last check.
    last: usize,
    /// Envelopes of the persistent requests; `None`: every message has a request of its own.
    kept: Option<Vec<Option<Envelope>>>,
    active: usize,
    finished: Vec<c_int>,
    statuses: Vec<ffi::MPI_Status>,
    one_thread: PhantomData<*mut ()>,
}

/// A buffer and the state of its message. All of a message lies together: copying a long message
/// evicts the data needed next from the first-level cache.
#[derive(Debug)]
struct Message {
    buffer: AlignedBuffer,
    /// Most bytes of a piece.
    chunk: usize,
    /// Requests that are active.
    under_way: usize,
    /// Bytes received so far; if lengths are exact, pieces.
    received: usize,
    requests: Range<usize>,
}

#[derive(Debug, Clone, Copy)]
struct RequestState {
    message: usize,
    /// Whether the request is active. An idle persistent request is not null either.
    is_active: bool,
}

impl RequestState {
    fn idle(message: usize) -> Self {
        Self { message, is_active: false }
    }
}

impl Message {
    fn new(request: usize) -> Self {
        let requests = request..request + 1;
        Self { buffer: AlignedBuffer::default(), chunk: usize::MAX, under_way: 0, received: 0, requests }
    }
}

impl Transfers {
    /// Creates `many` empty buffers to send from, with nothing pending.
    pub(crate) fn outgoing(many: usize) -> Self {
        Self::new(Way::Out, many)
    }

    /// Creates `many` empty buffers to receive into, with nothing pending.
    pub(crate) fn incoming(many: usize) -> Self {
        Self::new(Way::In, many)
    }

    fn new(way: Way, many: usize) -> Self {
        Self {
            way,
            messages: (0..many).map(Message::new).collect(),
            exact: false,
            requests: vec![null_request(); many],
            states: (0..many).map(RequestState::idle).collect(),
            last: 0,
            kept: None,
            active: 0,
            finished: vec![0; many],
            statuses: vec![blank_status(); many],
            one_thread: PhantomData,
        }
    }

    /// Sets pieces of at most this number of bytes (at least 1) for each message, or of more bytes
    /// if there would be too many pieces.
    pub(crate) fn in_pieces(mut self, chunks: &[usize]) -> Self {
        self.messages.iter_mut().zip(chunks).for_each(|(message, &chunk)| message.chunk = chunk);
        self
    }

    /// Declares whether messages are exactly as long as what is posted for them, because both ends
    /// have the length. Then the library is not asked for the length, which would take measurable
    /// time beside a small message. A longer message is an error of the library; a shorter one,
    /// which no sender that has the length can send, is detected with debug assertions.
    pub(crate) fn of_exact_lengths(mut self, exact: bool) -> Self {
        self.exact = exact && !cfg!(debug_assertions);
        self
    }

    /// Returns whether the library is asked for the lengths of messages.
    fn wants_lengths(&self) -> bool {
        self.way == Way::In && !self.exact
    }

    pub(crate) fn is_active(&self, i: usize) -> bool {
        self.messages[i].under_way > 0
    }

    pub(crate) fn any_active(&self) -> bool {
        self.active > 0
    }

    /// Returns the buffer of a message that is not under way.
    #[inline(always)]
    pub(crate) fn bytes(&self, i: usize) -> Result<&[u8], CommError> {
        self.expect_inactive(i)?;
        Ok(self.messages[i].buffer.bytes())
    }

    /// Returns the buffer of a message that is not under way, resized to this number of bytes.
    #[inline(always)]
    pub(crate) fn bytes_mut(&mut self, i: usize, length: usize) -> Result<&mut [u8], CommError> {
        self.expect_inactive(i)?;
        let buffer = &mut self.messages[i].buffer;
        buffer.set_length(length)?;
        Ok(buffer.bytes_mut())
    }

    /// Sends the buffer as it is. MPI-3.1 section 3.7.2.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        i: usize,
        on: &Communicator,
        to: Rank,
        tag: c_int,
    ) -> Result<(), CommError> {
        self.expect_inactive(i)?;
        self.begin(i, on, to, tag)
    }

    /// Posts a receive of up to `most` bytes. MPI-3.1 section 3.7.2.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        i: usize,
        on: &Communicator,
        from: Rank,
        tag: c_int,
        most: usize,
    ) -> Result<(), CommError> {
        self.expect_inactive(i)?;
        self.messages[i].buffer.set_length(most)?;
        self.begin(i, on, from, tag)
    }

    /// Sends or receives the buffer, which must not have a message under way.
    #[inline(always)]
    fn begin(&mut self, i: usize, on: &Communicator, peer: Rank, tag: c_int) -> Result<(), CommError> {
        let Message { buffer, chunk, received, requests, .. } = &mut self.messages[i];
        *received = 0;
        let (chunk, request, whole) = (*chunk, requests.start, buffer.bytes_mut());
        let envelope = Envelope {
            start: whole.as_mut_ptr(),
            length: count(self.way.call(), whole.len().min(chunk))?,
            peer: peer as c_int,
            tag,
            on: on.raw,
        };
        // Nearly all messages take this path; the code for pieces would take measurable time beside
        // a small one.
        let bytes = whole.len();
        if bytes <= chunk {
            self.begin_piece(i, request, envelope)
        } else {
            self.begin_pieces(i, envelope, bytes)
        }
    }

    /// Begins a message piece by piece; the envelope is that of the first. Not inlined, so that
    /// whole messages do not save the registers that it uses.
    #[inline(never)]
    fn begin_pieces(&mut self, i: usize, first: Envelope, bytes: usize) -> Result<(), CommError> {
        let chunk = self.messages[i].chunk.max(bytes.div_ceil(MOST_PIECES));
        self.make_room(i, bytes.div_ceil(chunk));
        let request = self.messages[i].requests.start;
        for (piece, offset) in (0..bytes).step_by(chunk).enumerate() {
            let length = count(self.way.call(), chunk.min(bytes - offset))?;
            let start = first.start.wrapping_add(offset);
            self.begin_piece(i, request + piece, Envelope { start, length, ..first })?;
        }
        Ok(())
    }

    /// Begins one piece. Inlined in its callers: an envelope that is passed to a function goes
    /// through memory, which takes measurable time beside a small message.
    #[inline(always)]
    fn begin_piece(&mut self, i: usize, request: usize, envelope: Envelope) -> Result<(), CommError> {
        match self.kept {
            Some(_) => self.start_kept(request, envelope)?,
            None => self.start_new(request, envelope)?,
        }
        self.states[request].is_active = true;
        self.messages[i].under_way += 1;
        self.active += 1;
        Ok(())
    }

    /// Makes room for at least `pieces` requests of a message. Requests are handles, which may be
    /// moved while they are active.
    fn make_room(&mut self, i: usize, pieces: usize) {
        let Range { start, end } = self.requests_of(i);
        let more = pieces.saturating_sub(end - start);
        if more == 0 {
            return;
        }
        self.requests.splice(end..end, repeat_n(null_request(), more));
        self.states.splice(end..end, repeat_n(RequestState::idle(i), more));
        self.kept.iter_mut().for_each(|kept| drop(kept.splice(end..end, repeat_n(None, more))));
        self.messages[i].requests.end += more;
        for Message { requests, .. } in &mut self.messages[i + 1..] {
            *requests = requests.start + more..requests.end + more;
        }
        self.finished.resize(self.requests.len(), 0);
        self.statuses.resize(self.requests.len(), blank_status());
    }

    fn requests_of(&self, i: usize) -> Range<usize> {
        self.messages[i].requests.clone()
    }

    /// Starts the piece with a request of its own.
    #[inline]
    fn start_new(&mut self, request: usize, envelope: Envelope) -> Result<(), CommError> {
        let Envelope { start, length, peer, tag, on } = envelope;
        let (start, request) = (start.cast(), &raw mut self.requests[request]);
        // SAFETY: the buffer has `length` bytes from `start` and obeys this type's invariant until
        // the request is over.
        // Test: suite, memcheck.
        let code = unsafe {
            match self.way {
                Way::Out => ffi::MPI_Isend(start, length, byte(), peer, tag, on, request),
                Way::In => ffi::MPI_Irecv(start, length, byte(), peer, tag, on, request),
            }
        };
        check(self.way.call(), code)
    }

    #[inline]
    fn expect_inactive(&self, i: usize) -> Result<(), CommError> {
        if self.is_active(i) { Err(in_use(i)) } else { Ok(()) }
    }
}

#[cold]
fn in_use(i: usize) -> CommError {
    CommError::Mpi { call: "a buffer access", message: format!("buffer {i} is used by a pending message") }
}

impl Transfers {
    /// Lets MPI work and passes the numbers of finished messages to `done`; a received buffer then
    /// has the message's length. Never blocks. MPI-3.1 section 3.7.5.
    #[inline(always)]
    pub(crate) fn poll(&mut self, done: impl FnMut(usize)) -> Result<(), CommError> {
        match self.active {
            0 => Ok(()),
            1 => self.poll_last(done),
            _ => self.poll_several(done),
        }
    }

    /// Tests the only active request: Open MPI's `MPI_Testsome` checks before it moves data,
    /// `MPI_Test` before and after. MPI-3.1 section 3.7.3.
    #[inline(always)]
    fn poll_last(&mut self, mut done: impl FnMut(usize)) -> Result<(), CommError> {
        if !self.states[self.last].is_active {
            let Some(last) = self.states.iter().position(|state| state.is_active) else { return Ok(()) };
            self.last = last;
        }
        let request = &raw mut self.requests[self.last];
        let status = if self.wants_lengths() { &raw mut self.statuses[0] } else { ignored_status() };
        let mut is_over = 0;
        // SAFETY: the request is active, and its buffer obeys this type's invariant; an integer and
        // at most a status are written.
        // Test: suite, memcheck.
        let code = unsafe { ffi::MPI_Test(request, &raw mut is_over, status) };
        check("MPI_Test", code)?;
        if is_over == 0 { Ok(()) } else { self.end_request(self.last, 0, &mut done) }
    }

    /// Tests several requests. Not inlined, so that a single message does not save the registers
    /// that it uses.
    #[inline(never)]
    fn poll_several(&mut self, mut done: impl FnMut(usize)) -> Result<(), CommError> {
        let many = self.test_some()?;
        (0..many).try_for_each(|entry| self.end_request(self.finished[entry] as usize, entry, &mut done))
    }

    /// Records that a request is over, with the status of this entry.
    #[inline]
    fn end_request(
        &mut self,
        request: usize,
        entry: usize,
        done: &mut impl FnMut(usize),
    ) -> Result<(), CommError> {
        let wants_length = self.wants_lengths();
        let state = &mut self.states[request];
        state.is_active = false;
        let i = state.message;
        self.active -= 1;
        let message = &mut self.messages[i];
        message.under_way -= 1;
        let is_over = message.under_way == 0;
        match self.way {
            Way::In if wants_length => self.set_received_length(i, entry)?,
            Way::In => message.received += 1,
            Way::Out => (),
        }
        if is_over {
            done(i);
        }
        Ok(())
    }

    /// Tests all requests, and records which are over and their statuses.
    fn test_some(&mut self) -> Result<usize, CommError> {
        let mut many = 0;
        // SAFETY: all arrays have as many entries as there are requests.
        // Test: suite, memcheck.
        let code = unsafe {
            ffi::MPI_Testsome(
                self.requests.len() as c_int,
                self.requests.as_mut_ptr(),
                &raw mut many,
                self.finished.as_mut_ptr(),
                self.statuses.as_mut_ptr(),
            )
        };
        // A negative number (`MPI_UNDEFINED`) means that nothing was active.
        let many = usize::try_from(many).unwrap_or(0).min(self.requests.len());
        self.check_some(code, many)?;
        Ok(many)
    }

    /// Checks the errors of `MPI_Testsome`, which reports them per message; the call's own code
    /// only shows that there are some.
    fn check_some(&self, code: c_int, many: usize) -> Result<(), CommError> {
        let call = "MPI_Testsome";
        check(call, code).map_err(|general| {
            let single = self.statuses[..many].iter().map(|status| status.MPI_ERROR);
            let single = single.filter(|&error| error != ffi::MPI_SUCCESS as c_int).map(error_text).next();
            single.map_or(general, |message| CommError::Mpi { call, message })
        })
    }

    /// Shortens the buffer to what arrived, once all pieces have arrived.
    fn set_received_length(&mut self, i: usize, entry: usize) -> Result<(), CommError> {
        let mut length = 0;
        let status = &raw const self.statuses[entry];
        // SAFETY: the status was just written by the library.
        // Test: suite.
        let code = unsafe { ffi::MPI_Get_count(status, byte(), &raw mut length) };
        check("MPI_Get_count", code)?;
        let Message { buffer, received, under_way, .. } = &mut self.messages[i];
        *received += usize::try_from(length).unwrap_or(0);
        if *under_way > 0 {
            return Ok(());
        }
        buffer.set_length((*received).min(buffer.capacity()))
    }
}
