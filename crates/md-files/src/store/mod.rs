//! Output directories and the files in them: locked against other runs, written completely or not
//! at all, and checked before they are continued.
//!
//! | file | |
//! | --- | --- |
//! | `directory` | a directory that one run has locked, and its files |
//! | `lock`, `lease` | the lock, and its renewal |
//! | `record_file`, `mark` | files that grow by whole records, and their state at a checkpoint |
//! | `identity` | device and inode, by which inputs are recognised under any name |
//! | `error` | errors, with advice for the user |

mod directory;
mod error;
mod identity;
mod lease;
mod lock;
mod mark;
mod record_file;

pub use directory::{OutputDirectory, unfinished_of};
pub use error::kept_whole;
pub use error::{Intact, OutputError};
pub use identity::FileIdentity;
pub use lock::Holder;
pub use mark::OutputMark;
pub use record_file::RecordFile;
