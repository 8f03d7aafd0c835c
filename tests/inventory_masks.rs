//! Outer masks: what each variable leaves, in which order, and which hid what.

use ternlease::inventory::{Found, Masks, Mig, Why};
use ternlease::{GpuDevice, Vendor};

fn masks(variables: &[(&str, &str)]) -> Masks {
    let value = |name: &str| variables.iter().find(|(other, _)| *other == name);
    Masks::from_env(&|name| value(name).map(|(_, value)| (*value).to_owned()))
}

fn devices(vendor: Vendor, count: u32) -> Vec<GpuDevice> {
    let named = |index| GpuDevice {
        uuid: Some(format!("GPU-{index}{index}aa-{index}")),
        ..GpuDevice::new(vendor, index, "A100")
    };
    (0..count).map(named).collect()
}

fn part(parent: u32, gpu_instance: u32) -> GpuDevice {
    GpuDevice {
        uuid: Some(format!("MIG-{parent}{gpu_instance}bb-{gpu_instance}")),
        mig: Some(Mig {
            parent: format!("GPU-{parent}{parent}aa-{parent}"),
            profile: "1g.10gb".to_owned(),
            gpu_instance,
            compute_instance: 0,
        }),
        ..GpuDevice::new(Vendor::Nvidia, parent, "A100 MIG")
    }
}

fn apply(variables: &[(&str, &str)], devices: Vec<GpuDevice>) -> Found {
    masks(variables).apply(Found { devices, ..Found::default() })
}

fn indices(found: &Found) -> Vec<u32> {
    found.devices.iter().map(|device| device.index).collect()
}

/// The numbers that one variable leaves of four devices.
fn left(vendor: Vendor, name: &str, value: &str) -> Vec<u32> {
    let found = apply(&[(name, value)], devices(vendor, 4));
    assert_eq!(found.devices.len() + found.hidden.len(), 4, "{name}={value}");
    let mask = format!("{name}={value}");
    assert!(found.hidden.iter().all(|hidden| hidden.mask == mask), "{:?}", found.hidden);
    let all_hidden = found.absences.iter().any(|absence| absence.why == Why::AllHidden);
    assert_eq!(all_hidden, found.devices.is_empty(), "{mask}");
    indices(&found)
}

fn cuda(value: &str) -> Vec<u32> {
    left(Vendor::Nvidia, "CUDA_VISIBLE_DEVICES", value)
}

#[test]
fn without_masks_nothing_changes() {
    let both = [devices(Vendor::Nvidia, 2), devices(Vendor::Amd, 2)].concat();
    let found = Found { devices: both, ..Found::default() };
    assert_eq!(Masks::none().apply(found.clone()), found);
    assert_eq!(masks(&[("PATH", "/bin")]), Masks::none());
    let none = Masks::none().apply(Found::default());
    assert_eq!(none, Found::default(), "nothing was there to hide");
}

#[test]
fn cuda_lists_are_orders_of_preference() {
    assert_eq!(cuda("0,1"), [0, 1]);
    assert_eq!(cuda("3,1"), [3, 1]);
    assert_eq!(cuda(" 2 , 0 "), [2, 0]);
    assert_eq!(cuda("1gpu,2x"), [1, 2]);
}

#[test]
fn cuda_lists_end_at_an_entry_that_names_nothing() {
    assert_eq!(cuda("1,9,0"), [1]);
    assert_eq!(cuda("2,-1,0"), [2]);
    assert_eq!(cuda("2,,0"), [2]);
    assert_eq!(cuda("2,GPU-11aa-1"), [2], "another kind of entry ends it, too");
    assert_eq!(cuda("99999999999999999999,1"), [0; 0]);
    assert_eq!(cuda("2,1,2"), [0; 0], "named twice");
    for nothing in ["", "-1", "NoDevFiles", "void", "\u{fffd}"] {
        assert_eq!(cuda(nothing), [0; 0], "{nothing:?}");
    }
}

#[test]
fn cuda_uuids_may_be_shortened_as_far_as_they_are_clear() {
    assert_eq!(cuda("GPU-22aa-2,GPU-00aa-0"), [2, 0]);
    assert_eq!(cuda("GPU-3,GPU-1"), [3, 1]);
    assert_eq!(cuda("gpu-3"), [3]);
    assert_eq!(cuda("GPU-1,GPU-"), [1], "it could be any");
    assert_eq!(cuda("GPU-1,GPU-77aa-7,GPU-2"), [1]);
    assert_eq!(cuda("GPU-1,GPU-11"), [0; 0], "named twice");
}

#[test]
fn cuda_numbers_may_have_gaps() {
    let mut some = devices(Vendor::Nvidia, 6);
    some.retain(|device| [0, 2, 5].contains(&device.index));
    assert_eq!(indices(&apply(&[("CUDA_VISIBLE_DEVICES", "5,2")], some.clone())), [5, 2]);
    assert_eq!(indices(&apply(&[("CUDA_VISIBLE_DEVICES", "5,1,2")], some)), [5]);
}

#[test]
fn parts_go_by_both_names_and_with_their_device() {
    let all = || vec![part(0, 1), part(0, 2), part(1, 1), devices(Vendor::Nvidia, 3).remove(2)];
    let uuids = |value: &str| -> Vec<String> {
        let found = apply(&[("CUDA_VISIBLE_DEVICES", value)], all());
        found.devices.into_iter().map(|device| device.uuid.unwrap()).collect()
    };
    assert_eq!(uuids("MIG-11bb-1,MIG-01bb-1"), ["MIG-11bb-1", "MIG-01bb-1"]);
    assert_eq!(uuids("MIG-GPU-00aa-0/2/0"), ["MIG-02bb-2"]);
    assert_eq!(uuids("MIG-GPU-00aa-0/2/1"), [""; 0]);
    assert_eq!(uuids("MIG-0"), [""; 0], "it could be either");
    assert_eq!(uuids("2,0"), ["GPU-22aa-2", "MIG-01bb-1", "MIG-02bb-2"]);
    assert_eq!(uuids("GPU-11aa-1"), ["MIG-11bb-1"]);
    assert_eq!(uuids("GPU-0,GPU-2"), ["MIG-01bb-1", "MIG-02bb-2", "GPU-22aa-2"]);
}

#[test]
fn numbers_of_different_models_are_ambiguous_unless_in_pci_order() {
    let mixed = || {
        let mut mixed = devices(Vendor::Nvidia, 3);
        mixed[0].name = "T4".to_owned();
        mixed
    };
    let warnings = |variables: &[(&str, &str)], devices| {
        let found = apply(variables, devices);
        assert_eq!(indices(&found)[0], 1);
        found.warnings
    };
    let by_number = ("CUDA_VISIBLE_DEVICES", "1");
    for order in [None, Some(("CUDA_DEVICE_ORDER", "FASTEST_FIRST"))] {
        let variables: Vec<_> = order.into_iter().chain([by_number]).collect();
        let warning = warnings(&variables, mixed()).concat();
        assert!(warning.contains("CUDA_VISIBLE_DEVICES=1:"), "{warning}");
        assert!(warning.contains("CUDA_DEVICE_ORDER"), "{warning}");
    }
    let in_order = ("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    assert!(warnings(&[by_number, in_order], mixed()).is_empty());
    assert!(warnings(&[by_number], devices(Vendor::Nvidia, 3)).is_empty());
    assert!(warnings(&[("CUDA_VISIBLE_DEVICES", "GPU-1")], mixed()).is_empty());
    assert!(warnings(&[("CUDA_VISIBLE_DEVICES", "1,0,2")], mixed()).is_empty(), "all are named");
}

#[test]
fn a_container_only_narrows() {
    let container = |value| left(Vendor::Nvidia, "NVIDIA_VISIBLE_DEVICES", value);
    for all in ["all", "void", ""] {
        let found = apply(&[("NVIDIA_VISIBLE_DEVICES", all)], devices(Vendor::Nvidia, 4));
        assert_eq!(indices(&found), [0, 1, 2, 3], "{all:?}");
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    }
    assert_eq!(container("none"), [0; 0]);
    assert_eq!(container("3,1,3"), [1, 3], "a set has no order");
    assert_eq!(container("GPU-22aa-2,GPU-99aa-9"), [2], "others are elsewhere");
    assert_eq!(container("GPU-99aa-9"), [0; 0]);
    assert_eq!(container("3,4"), [0, 1, 2, 3], "the host's numbers, and the runtime has narrowed");
    let found = apply(
        &[("NVIDIA_VISIBLE_DEVICES", "runtime.nvidia.com/gpu=0")],
        devices(Vendor::Nvidia, 2),
    );
    assert_eq!(found.devices.len(), 2);
    assert!(found.warnings.concat().contains("not understood"), "{:?}", found.warnings);
}

#[test]
fn cuda_narrows_what_the_container_leaves() {
    let variables = [("NVIDIA_VISIBLE_DEVICES", "1,2,3"), ("CUDA_VISIBLE_DEVICES", "3,1")];
    let found = apply(&variables, devices(Vendor::Nvidia, 4));
    assert_eq!(indices(&found), [3, 1]);
    let by: Vec<_> =
        found.hidden.iter().map(|hidden| (hidden.device.index, hidden.mask.as_str())).collect();
    let expected = [(0, "NVIDIA_VISIBLE_DEVICES=1,2,3"), (2, "CUDA_VISIBLE_DEVICES=3,1")];
    assert_eq!(by, expected);
}

#[test]
fn amd_masks() {
    let amd = |name, value| left(Vendor::Amd, name, value);
    assert_eq!(amd("ROCR_VISIBLE_DEVICES", "2,0"), [2, 0]);
    assert_eq!(amd("ROCR_VISIBLE_DEVICES", "0,GPU-33AA-3"), [0, 3], "kinds may be mixed");
    assert_eq!(amd("HIP_VISIBLE_DEVICES", "1"), [1]);
    assert_eq!(amd("GPU_DEVICE_ORDINAL", "3,2"), [3, 2]);
    assert_eq!(amd("CUDA_VISIBLE_DEVICES", "2"), [2], "HIP heeds it");
    assert_eq!(amd("ROCR_VISIBLE_DEVICES", ""), [0; 0]);
    assert_eq!(amd("NVIDIA_VISIBLE_DEVICES", "none"), [0, 1, 2, 3]);
}

#[test]
fn hip_counts_what_rocr_leaves() {
    let both = |rocr, hip| {
        let variables = [("ROCR_VISIBLE_DEVICES", rocr), ("HIP_VISIBLE_DEVICES", hip)];
        indices(&apply(&variables, devices(Vendor::Amd, 4)))
    };
    assert_eq!(both("3,2", "1"), [2]);
    assert_eq!(both("2,3", "2,3"), [0; 0], "the well-known trap");
    // Slurm sets all of these alike.
    let slurm = ["ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"];
    let found = apply(&slurm.map(|name| (name, "2,3")), devices(Vendor::Amd, 4));
    assert_eq!(indices(&found), [2, 3]);
}

#[test]
fn intel_masks() {
    let intel = |value| left(Vendor::Intel, "ZE_AFFINITY_MASK", value);
    assert_eq!(intel("2,0"), [0, 2], "a set has no order");
    assert_eq!(intel("1.0,1.1,3"), [1, 3]);
    assert_eq!(intel("x,2"), [2]);
    assert_eq!(intel(""), [0, 1, 2, 3]);
    assert_eq!(intel("7"), [0; 0]);
}

#[test]
fn slurm_is_heeded_if_its_numbers_can_be_meant() {
    for name in ["SLURM_JOB_GPUS", "SLURM_STEP_GPUS"] {
        assert_eq!(left(Vendor::Nvidia, name, "3,1"), [1, 3]);
        assert_eq!(left(Vendor::Amd, name, "1-2,2"), [1, 2]);
        assert_eq!(left(Vendor::Nvidia, name, "2,4"), [0, 1, 2, 3], "of the node, not of the job");
        assert_eq!(left(Vendor::Nvidia, name, "0-4294967295"), [0, 1, 2, 3]);
        assert_eq!(left(Vendor::Nvidia, name, ""), [0, 1, 2, 3]);
    }
    let step = [("SLURM_JOB_GPUS", "0,1,2"), ("SLURM_STEP_GPUS", "2")];
    assert_eq!(indices(&apply(&step, devices(Vendor::Nvidia, 4))), [2], "the step is the narrower");
    let with_cuda = [("SLURM_JOB_GPUS", "2,3"), ("CUDA_VISIBLE_DEVICES", "0,1")];
    assert_eq!(indices(&apply(&with_cuda, devices(Vendor::Nvidia, 4))), [0, 1]);
    let two_vendors = [devices(Vendor::Nvidia, 2), devices(Vendor::Amd, 2)].concat();
    let found = apply(&[("SLURM_JOB_GPUS", "0")], two_vendors);
    assert_eq!((found.devices.len(), found.warnings.len()), (4, 1));
}

#[test]
fn vendors_do_not_disturb_each_other() {
    let (nvidia, amd) = (devices(Vendor::Nvidia, 2), devices(Vendor::Amd, 2));
    let woven = vec![amd[0].clone(), nvidia[0].clone(), amd[1].clone(), nvidia[1].clone()];
    let found = apply(&[("CUDA_VISIBLE_DEVICES", "1,0")], woven.clone());
    let keys: Vec<_> = found.devices.iter().map(GpuDevice::key).collect();
    assert_eq!(keys, ["amd:0", "nvidia:1", "amd:1", "nvidia:0"]);
    let found = apply(&[("CUDA_VISIBLE_DEVICES", "")], woven);
    let keys: Vec<_> = found.devices.iter().map(GpuDevice::key).collect();
    assert_eq!(keys, ["amd:0", "amd:1"]);
    assert!(found.absences.is_empty(), "some are left");
}

/// A small generator: the test must not depend on the outside.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

#[test]
fn whatever_they_say_no_device_is_lost_or_doubled() {
    let names = [
        "CUDA_VISIBLE_DEVICES",
        "NVIDIA_VISIBLE_DEVICES",
        "ROCR_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES",
        "GPU_DEVICE_ORDINAL",
        "ZE_AFFINITY_MASK",
        "SLURM_JOB_GPUS",
        "SLURM_STEP_GPUS",
    ];
    let pieces = [
        "0", "1", "2", "3", ",", ",", "-", ".", " ", "GPU-", "MIG-", "MIG-GPU-", "11aa", "/1/0",
        "ü", "all", "none", "x",
    ];
    let mut random = Random(99);
    let (mut hidden, mut shown) = (0, 0);
    for _ in 0..20_000 {
        let mut all = vec![part(0, 1), part(0, 2), part(1, 1)];
        for vendor in [Vendor::Nvidia, Vendor::Amd, Vendor::Intel] {
            let count = random.below(4) as u32;
            all.extend(devices(vendor, count));
        }
        let mut variables = Vec::new();
        for name in names {
            let value = (0..random.below(7)).map(|_| pieces[random.below(pieces.len())]).collect();
            variables.extend((random.below(3) == 0).then_some((name, value)));
        }
        let borrowed: Vec<_> =
            variables.iter().map(|(name, value): &(_, String)| (*name, value.as_str())).collect();
        let found = apply(&borrowed, all.clone());
        hidden += found.hidden.len();
        shown += found.devices.len();
        let left = found.devices.into_iter().chain(found.hidden.into_iter().map(|one| one.device));
        let sorted = |devices: Vec<GpuDevice>| {
            let mut texts: Vec<_> = devices.iter().map(|device| format!("{device:?}")).collect();
            texts.sort();
            texts
        };
        assert_eq!(sorted(left.collect()), sorted(all), "{variables:?}");
    }
    assert!(hidden > 1000 && shown > 1000, "{hidden} hidden, {shown} shown");
}
