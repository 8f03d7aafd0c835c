//! What a computation costs, in its own numbers or as one of the shapes that everybody knows.

use clap::ArgGroup;
use ternlease::{FnCost, Kind};

use super::numbers::{number, numbers};
use crate::exit::Failure;

/// Exactly one of these.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What is to be computed")]
#[group(skip)]
#[command(group = ArgGroup::new("shape").required(true).args(
    ["flops", "sort", "scan", "hash", "matmul", "etl", "copy"]))]
pub struct Shape {
    /// So many operations; with --mem, --peak and --result
    #[arg(long, value_name = "N", value_parser = number, requires_all = ["mem", "peak", "result"])]
    flops: Option<u64>,
    /// Bytes that go to and from memory
    #[arg(long, value_name = "N", value_parser = number, requires = "flops")]
    mem: Option<u64>,
    /// Bytes of memory in use at one time
    #[arg(long, value_name = "N", value_parser = number, requires = "flops")]
    peak: Option<u64>,
    /// Bytes of the result
    #[arg(long, value_name = "N", value_parser = number, requires = "flops")]
    result: Option<u64>,
    /// Sort N items of B bytes; the result has R bytes
    #[arg(long, value_name = "N,B,R", value_parser = numbers::<3>)]
    sort: Option<[u64; 3]>,
    /// Read N bytes from end to end; the result has R bytes
    #[arg(long, value_name = "N,R", value_parser = numbers::<2>)]
    scan: Option<[u64; 2]>,
    /// Hash N bytes
    #[arg(long, value_name = "N", value_parser = number)]
    hash: Option<u64>,
    /// Multiply an M by K with a K by N matrix; the result has R bytes
    #[arg(long, value_name = "M,N,K,R", value_parser = numbers::<4>)]
    matmul: Option<[u64; 4]>,
    /// Read, change and write N rows of B bytes, O operations each; the result has R
    /// bytes
    #[arg(long, value_name = "N,B,O,R", value_parser = numbers::<4>)]
    etl: Option<[u64; 4]>,
    /// Copy N bytes
    #[arg(long, value_name = "N", value_parser = number)]
    copy: Option<u64>,
}

impl Shape {
    /// What it costs, and what sort of work it is.
    pub fn cost(&self) -> Result<(FnCost, Kind), Failure> {
        let Shape { flops, mem, peak, result, sort, scan, hash, matmul, etl, copy } = *self;
        if let (Some(flops), Some(mem), Some(peak), Some(result)) = (flops, mem, peak, result) {
            return Ok((FnCost::new(flops, mem, peak, result), Kind::Roofline));
        }
        sort.map(|[n, b, r]| (FnCost::sort(n, b, r), Kind::Sort))
            .or(scan.map(|[n, r]| (FnCost::scan(n, r), Kind::Stream)))
            .or(hash.map(|n| (FnCost::hash(n), Kind::Hash)))
            .or(matmul.map(|[m, n, k, r]| (FnCost::matmul(m, n, k, r), Kind::Dense64)))
            .or(etl.map(|[n, b, o, r]| (FnCost::etl(n, b, o, r), Kind::Rows)))
            .or(copy.map(|n| (FnCost::copy(n), Kind::Copy)))
            // The command line has been checked for it.
            .ok_or_else(|| Failure::new("say what is to be computed, as in `--hash 1G`"))
    }
}
