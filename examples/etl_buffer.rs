//! A buffer for rows that is as large as the machine, its limits and its neighbours allow, and always holds whole rows.
//!
//! Run it: `cargo run --release --example etl_buffer`

use ternlease::MachCap;

const GIB: u64 = 1 << 30;

fn main() {
    println!("{:<34} {:>12} {:>9} {:>14}", "machine", "row", "rows", "buffer");
    for (name, available) in
        [("example", 24 * GIB), ("in a container with 512 MiB left", GIB / 2), ("full", 1 << 20)]
    {
        let machine = MachCap { mem_available: available, ..MachCap::example() };
        for row in [256, 1 << 20] {
            match machine.etl_buffer_bytes(row) {
                Some(buffer) => {
                    println!("{name:<34} {row:>12} {:>9} {buffer:>14}", buffer / row);
                    assert_eq!(buffer % row, 0, "whole rows");
                    assert!(buffer <= machine.compute_budget() / 2);
                }
                None => println!("{name:<34} {row:>12} {:>9} {:>14}", "none", "read one by one"),
            }
        }
    }
    // On this machine, whatever it is.
    let here = MachCap::read_with(".", ternlease::cost::ReadOptions::new().without_benchmarks())
        .expect("the current directory is there");
    assert!(here.etl_buffer_bytes(256).is_none_or(|buffer| buffer % 256 == 0));
}
