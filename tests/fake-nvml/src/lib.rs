//! A `libnvidia-ml.so.1` for tests. It has no devices of its own: the file `script`, beside the library, says which there are and
//! how they behave, and is read again when it has changed. The file `calls`, in the same place, gets a line for every call.
//!
//! Without a script there is no driver. A script has one item per line. Words are separated by blanks, values with blanks stand in
//! double quotes, `#` begins a comment. What stands in brackets may be left out.
//!
//! ```text
//! driver VERSION
//! device [uuid=GPU-…] [pci=00000000:07:00.0] [minor=N] [numa=N|none] [name="A100"] [memory=MIB] [used=MIB] [reserved=MIB] [cc=8.0]
//!        [busy=PERCENT] [mig=on|off|none] [mig_slots=7] [ecc=N] [mode=default|exclusive|prohibited]
//!        [cores=N] [core_mhz=N] [memory_mhz=N] [memory_bits=N] [pcie_generation=N] [pcie_lanes=N]     not supported if left out
//! mig PARENT AT uuid=MIG-… [profile=1g.10gb] [gi=N] [ci=N] [memory=MIB] [used=MIB]
//! link A B [LANES]                  B is a device, or `switch`: all at the switch reach each other
//! process DEVICE pid=N [kind=compute|graphics|mps] [memory=MIB|unknown]
//! process_garbage DEVICE            its process lists come in the longer layout that some drivers of the 535 series had
//! fail CALL [DEVICE] ERROR [times=N]
//! delay CALL [DEVICE] MILLISECONDS
//! hang CALL [DEVICE]                until this line is gone
//! event SERIAL DEVICE xid=N         or ecc=double, ecc=single
//! lost DEVICE                       no call reaches it any more, and no event tells
//! ```
//!
//! The lines `device` are numbered from 0. Other lines name a device by that number, and the part of it at MIG index 2 as `0/2`.
//! `CALL` is the name of a function without `nvml` or `nvmlDevice` and, if all versions are meant, without `_v2`. `Init` includes
//! `InitWithFlags`. `ERROR` is a name of the header without `NVML_ERROR_`. `times` counts in each process, until the line is gone.
//!
//! An event comes once to each event set with which its device is registered, also if it stood in the script before that. It may
//! name a part: then the event is the whole device's and tells the part's instances.
//!
//! A device is known by its PCI address: who has its handle keeps it when the order changes. When its line is gone it is lost.
//! A line that makes no sense lets every call fail with `UNKNOWN`, and is itself written to `calls`.
#![cfg(unix)]
// What a feature leaves out may have been all that used something.
#![cfg_attr(any(feature = "old", feature = "v2-memory-only"), allow(dead_code))]
#![allow(non_snake_case)] // The names are those of the header.

mod answer;
mod call;
mod device;
mod events;
mod init;
#[cfg(not(feature = "bare"))]
mod links;
mod memory;
#[cfg(not(feature = "bare"))]
mod mig;
mod name;
mod parse;
mod process;
mod script;
mod speed;
mod state;
mod words;
