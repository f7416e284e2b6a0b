//! `[parallel.rma]`: how the one-sided backends work.

use md_comm::{Asserts, Buffering, RmaKey, RmaOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[parallel.rma]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rma {
    /// Where a window's memory comes from.
    pub window: WindowKind,
    /// One window for all neighbours, or one for each.
    pub windows: WindowCount,
    /// Who moves the data: the sender by put, or the receiver by get.
    pub operation: Operation,
    /// Message buffers per neighbour: 1, or 2 (double buffering).
    #[schemars(range(min = 1, max = 2))]
    pub slots: u8,
    /// Tell the MPI library what it may assume at synchronisation.
    pub asserts: bool,
    /// How `rma-notify` reads its flags.
    pub polling: Polling,
    /// Form of `rma-ring`.
    pub ring: RingForm,
}

/// Where a window's memory comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowKind {
    /// The library allocates it.
    #[default]
    Allocate,
    /// The library is given memory.
    Create,
    /// Memory is attached to a window without any.
    Dynamic,
}

/// How many windows there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowCount {
    /// One for all neighbours.
    #[default]
    Single,
    /// One for each neighbour.
    PerEdge,
}

/// Put or get.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// The sender writes.
    #[default]
    Put,
    /// The receiver reads.
    Get,
}

/// How flags are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Polling {
    /// By atomic loads.
    #[default]
    Fast,
    /// By MPI calls, as the standard demands.
    Strict,
}

/// Whose messages share a circular buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RingForm {
    /// Every neighbour has its own.
    #[default]
    PerEdge,
    /// One for all neighbours.
    Shared,
}

impl Default for Rma {
    fn default() -> Self {
        Self {
            window: WindowKind::default(),
            windows: WindowCount::default(),
            operation: Operation::default(),
            slots: 2,
            asserts: false,
            polling: Polling::default(),
            ring: RingForm::default(),
        }
    }
}

impl Rma {
    /// What the transport is told.
    pub fn options(&self) -> RmaOptions {
        RmaOptions {
            window: match self.window {
                WindowKind::Allocate => md_comm::WindowKind::Allocate,
                WindowKind::Create => md_comm::WindowKind::Create,
                WindowKind::Dynamic => md_comm::WindowKind::Dynamic,
            },
            windows: match self.windows {
                WindowCount::Single => md_comm::WindowCount::Single,
                WindowCount::PerEdge => md_comm::WindowCount::PerEdge,
            },
            operation: match self.operation {
                Operation::Put => md_comm::Operation::Put,
                Operation::Get => md_comm::Operation::Get,
            },
            asserts: if self.asserts { Asserts::On } else { Asserts::Off },
            polling: match self.polling {
                Polling::Fast => md_comm::Polling::Fast,
                Polling::Strict => md_comm::Polling::Strict,
            },
            ring: match self.ring {
                RingForm::PerEdge => md_comm::RingForm::PerEdge,
                RingForm::Shared => md_comm::RingForm::Shared,
            },
        }
    }

    /// Sets one key back to its default.
    pub fn reset(&mut self, key: RmaKey) {
        let default = Self::default();
        match key {
            RmaKey::Window => self.window = default.window,
            RmaKey::Windows => self.windows = default.windows,
            RmaKey::Operation => self.operation = default.operation,
            RmaKey::Slots => self.slots = default.slots,
            RmaKey::Asserts => self.asserts = default.asserts,
            RmaKey::Polling => self.polling = default.polling,
            RmaKey::Ring => self.ring = default.ring,
        }
    }

    /// Message buffers per neighbour; validation has refused anything but 1 and 2.
    pub fn slots(&self) -> Buffering {
        if self.slots == 1 { Buffering::Single } else { Buffering::Double }
    }
}
