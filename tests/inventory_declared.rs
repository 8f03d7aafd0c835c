//! Declared devices: in code, in a text, by a word. What is written can be read again; what makes no sense is refused and never worse.

use std::path::PathBuf;
use std::time::Duration;

use ternlease::inventory::{Declared, DeclaredError, Inventory, Mig, Why};
use ternlease::{GpuDevice, GpuSpeed, Health, PciAddress, Vendor};

fn parse(text: &str) -> Vec<GpuDevice> {
    Declared::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}")).find().devices
}

#[test]
fn all_that_a_line_can_say() {
    let text = r#"
        # two devices
        device vendor=nvidia index=3 name="A100 80GB" memory=81920 uuid=GPU-1 pci=00000000:07:00.0 cc=8.0 numa=1 island=2 # the first

        device index=0 vendor=amd health=failed trouble="fans: \"stuck\"\nand loud"
        device vendor=nvidia index=3 uuid=MIG-1 mig=GPU-1:1g.10gb:7:0 health=draining
    "#;
    let [first, second, part] = parse(text).try_into().unwrap();
    let expected = GpuDevice {
        memory: Some(81_920),
        uuid: Some("GPU-1".to_owned()),
        pci: Some(PciAddress { domain: 0, bus: 7, device: 0, function: 0 }),
        compute_capability: Some((8, 0)),
        numa: Some(1),
        island: Some(2),
        ..GpuDevice::new(Vendor::Nvidia, 3, "A100 80GB")
    };
    assert_eq!(first, expected);
    let expected = GpuDevice {
        health: Health::Failed,
        trouble: Some("fans: \"stuck\"\nand loud".to_owned()),
        ..GpuDevice::new(Vendor::Amd, 0, "")
    };
    assert_eq!(second, expected);
    let mig = Mig {
        parent: "GPU-1".to_owned(),
        profile: "1g.10gb".to_owned(),
        gpu_instance: 7,
        compute_instance: 0,
    };
    assert_eq!((part.mig, part.health), (Some(mig), Health::Draining));
}

#[test]
fn how_fast_a_device_is() {
    let text = "device vendor=nvidia index=0 name=A100 cores=6912 core_mhz=1410 memory_mhz=1593 memory_bits=5120 pcie=4x16\n\
                device vendor=nvidia index=1 multiprocessors=14 memory_bits=640 pcie=x8\n\
                device vendor=amd index=0 pcie=5x\n\
                device vendor=amd index=1\n";
    let speeds: Vec<GpuSpeed> = parse(text).iter().map(|device| device.speed).collect();
    let whole = GpuSpeed {
        cores: Some(6912),
        multiprocessors: None,
        core_mhz: Some(1410),
        memory_mhz: Some(1593),
        memory_bits: Some(5120),
        pcie_generation: Some(4),
        pcie_lanes: Some(16),
    };
    let part = GpuSpeed {
        multiprocessors: Some(14),
        memory_bits: Some(640),
        pcie_lanes: Some(8),
        ..GpuSpeed::default()
    };
    let link = GpuSpeed { pcie_generation: Some(5), ..GpuSpeed::default() };
    assert_eq!(speeds, [whole, part, link, GpuSpeed::default()]);
    assert_eq!(Declared::parse(text).unwrap().to_string(), text);
}

#[test]
fn a_figure_of_zero_is_not_written_as_it_tells_nothing() {
    let none = Some(0);
    let speed = GpuSpeed {
        cores: none,
        multiprocessors: none,
        core_mhz: none,
        memory_mhz: none,
        memory_bits: none,
        pcie_generation: none,
        pcie_lanes: Some(16),
    };
    let device = GpuDevice { speed, ..GpuDevice::new(Vendor::Nvidia, 0, "") };
    let text = Declared::new(vec![device]).to_string();
    assert_eq!(text, "device vendor=nvidia index=0 pcie=x16\n");
}

#[test]
fn nothing_is_a_declaration_too() {
    for text in ["", "\n\n", "# nothing\r\n", "   \t"] {
        assert_eq!(parse(text), []);
    }
}

#[test]
fn errors_say_where_and_what() {
    let ok = "device vendor=amd index=0";
    for (text, line, column, words) in [
        ("gpu vendor=amd", 1, 1, "expected `device`, found \"gpu\""),
        ("device=1 vendor=amd", 1, 1, "expected `device`"),
        ("\n  device index=0", 2, 3, "expected `vendor=`"),
        ("device vendor=amd", 1, 1, "expected `index=`"),
        ("device vendor=3dfx index=0", 1, 8, "vendor is \"3dfx\"; expected `nvidia`"),
        ("device vendor=amd index=-1", 1, 19, "index is \"-1\"; expected a whole number"),
        ("device vendor=amd index=0 memory=80GB", 1, 27, "whole number of MiB"),
        ("device vendor=amd index=0 memory=4294967296", 1, 27, "whole number of MiB"),
        ("device vendor=amd index=0 pci=7", 1, 27, "0000:07:00.0"),
        ("device vendor=amd index=0 uuid=", 1, 27, "uuid is \"\"; expected a UUID"),
        ("device vendor=amd index=0 uuid=a,b", 1, 27, "expected a UUID"),
        ("device vendor=amd index=0 cc=8", 1, 27, "8.0"),
        (
            "device vendor=amd index=0 cores=0",
            1,
            27,
            "cores is \"0\"; expected a whole number from 1",
        ),
        ("device vendor=amd index=0 multiprocessors=-1", 1, 27, "whole number from 1"),
        ("device vendor=amd index=0 core_mhz=1.4", 1, 27, "whole number from 1"),
        ("device vendor=amd index=0 memory_mhz=", 1, 27, "whole number from 1"),
        ("device vendor=amd index=0 memory_bits=4294967296", 1, 27, "whole number from 1"),
        ("device vendor=amd index=0 pcie=4", 1, 27, "as in `4x16`"),
        ("device vendor=amd index=0 pcie=x", 1, 27, "as in `4x16`"),
        ("device vendor=amd index=0 pcie=0x16", 1, 27, "as in `4x16`"),
        ("device vendor=amd index=0 pcie=4x16x1", 1, 27, "as in `4x16`"),
        ("device vendor=amd index=0 health=fine", 1, 27, "`draining`"),
        ("device vendor=amd index=0 mig=a:b:c:d", 1, 27, "PARENT:PROFILE"),
        ("device vendor=amd index=0 mig=1:2:3", 1, 27, "PARENT:PROFILE"),
        ("device vendor=amd index=0 name", 1, 27, "name is nothing"),
        ("device vendor=amd index=0 colour=red", 1, 27, "\"colour\" is not known"),
        ("device vendor=amd index=0 colour=red", 1, 27, "memory_mhz, memory_bits, pcie, numa"),
        ("device vendor=amd index=0 index=1", 1, 27, "\"index\" is given twice"),
        ("device vendor=amd index=0 name=\"a", 1, 32, "not closed"),
        ("device vendor=amd index=0 name=\"a\\", 1, 34, "expected `\\\"`"),
        ("device vendor=amd index=0 name=\"a\"b", 1, 35, "blank after the closing quote"),
        ("device vendor=amd index=0 name=a\"b\"", 1, 33, "right after the equals sign"),
        ("device vendor=amd index=0 näme=\"ü\" x=1", 1, 27, "\"näme\" is not known"),
    ] {
        let error = Declared::parse(text).expect_err(text);
        let told = error.to_string();
        assert_eq!((error.line(), error.column()), (line, column), "{text}: {told}");
        assert!(told.starts_with(&format!("line {line}, column {column}: ")), "{told}");
        assert!(told.contains(words), "{told}");
    }
    for (same, name) in [
        ("device vendor=amd index=0", "amd:0"),
        ("device vendor=amd index=0 pci=0000:01:00.0", "amd:0"),
    ] {
        let error = Declared::parse(&format!("{ok}\n\n{same}")).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("line 3, column 1: {name} is declared in line 1 already")
        );
    }
    for shared in ["pci=0000:01:00.0", "uuid=GPU-1"] {
        let text = format!("{ok} {shared}\n device vendor=amd index=1 {shared}");
        let error = Declared::parse(&text).expect_err(shared);
        assert_eq!((error.line(), error.column()), (2, 2), "{error}");
    }
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

    fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| value(self))
    }

    fn figure(&mut self) -> u32 {
        (self.below(u32::MAX as usize) >> self.below(32)).max(1) as u32
    }

    fn text(&mut self) -> String {
        let odd = ['a', ' ', '"', '\\', '\n', '\r', '\t', '#', '=', 'ü', '\0', '\u{2028}', 'n'];
        (0..self.below(9)).map(|_| odd[self.below(odd.len())]).collect()
    }

    fn device(&mut self, index: u32) -> GpuDevice {
        let vendors = [Vendor::Nvidia, Vendor::Amd, Vendor::Intel, Vendor::Other];
        let healths = [Health::Healthy, Health::Draining, Health::Failed];
        GpuDevice {
            uuid: self
                .maybe(|random| format!("{index}-{}", random.text().escape_default()))
                .map(|uuid| uuid.replace([' ', ','], "_")),
            pci: self.maybe(|random| PciAddress {
                domain: index,
                bus: random.below(256) as u8,
                device: random.below(32) as u8,
                function: random.below(8) as u8,
            }),
            memory: self.maybe(|random| random.below(1 << 32) as u32),
            compute_capability: self.maybe(|random| (random.below(20) as u32, 5)),
            speed: GpuSpeed {
                cores: self.maybe(Random::figure),
                multiprocessors: self.maybe(Random::figure),
                core_mhz: self.maybe(Random::figure),
                memory_mhz: self.maybe(Random::figure),
                memory_bits: self.maybe(Random::figure),
                pcie_generation: self.maybe(Random::figure),
                pcie_lanes: self.maybe(Random::figure),
            },
            numa: self.maybe(|random| random.below(9) as u32),
            island: self.maybe(|random| random.below(9) as u32),
            mig: self.maybe(|random| Mig {
                parent: random.text(),
                profile: "1g.5gb+me".to_owned(),
                gpu_instance: 1,
                compute_instance: 2,
            }),
            health: healths[self.below(3)],
            trouble: self.maybe(Random::text),
            ..GpuDevice::new(vendors[self.below(4)], index, &self.text())
        }
    }
}

#[test]
fn what_is_written_is_read_again() {
    let mut random = Random(4711);
    for _ in 0..500 {
        let devices = (0..random.below(6) as u32).map(|index| random.device(index)).collect();
        let declared = Declared::new(devices);
        let text = declared.to_string();
        assert_eq!(Declared::parse(&text).as_ref(), Ok(&declared), "{text}");
    }
}

#[test]
fn absurd_input_is_refused_and_never_worse() {
    let mut random = Random(42);
    let pieces = [
        "device",
        " ",
        "vendor=",
        "nvidia",
        "index=",
        "7",
        "\n",
        "\"",
        "\\",
        "=",
        "name=",
        "mig=",
        ":",
        "#",
        "pci=",
        "0000:07:00.0",
        "cc=",
        ".",
        "cores=",
        "pcie=",
        "x",
        "ü",
        "-",
        "\r",
        "\0",
        "99999999999999999999",
        "health=",
    ];
    let (mut good, mut bad) = (0, 0);
    for _ in 0..20_000 {
        let text: String =
            (0..random.below(24)).map(|_| pieces[random.below(pieces.len())]).collect();
        match Declared::parse(&text) {
            Ok(_) => good += 1,
            Err(error) => {
                bad += 1;
                let line = text.split('\n').nth(error.line() - 1).expect("the line exists");
                assert!(
                    (1..=line.chars().count() + 1).contains(&error.column()),
                    "{text:?}: {error}"
                );
            }
        }
    }
    assert!(good > 100 && bad > 1000, "{good} good, {bad} bad");
}

/// A file in a directory of its own, which goes when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: &[u8]) -> Self {
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("declared-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("gpus"), content).unwrap();
        Scratch(directory)
    }

    fn file(&self) -> PathBuf {
        self.0.join("gpus")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_are_read_or_refused_by_name() {
    let good = Scratch::new("good", Declared::fake(3).to_string().as_bytes());
    assert_eq!(Declared::read(good.file()), Ok(Declared::fake(3)));
    let spec = format!("file:{}", good.file().display());
    assert_eq!(Declared::from_spec(&spec), Ok(Declared::fake(3)));

    let mut random = Random(7);
    let noise: Vec<u8> = (0..2000).map(|_| random.below(256) as u8).collect();
    for (name, content, words) in [
        ("bad", b"device vendor=amd\n".as_slice(), "line 1, column 1: expected `index=`"),
        ("latin", b"# ok\n# \xc3\xbc \xfc\n", "line 2, column 5: this is not UTF-8"),
        ("noise", &noise, "line "),
        ("huge", &vec![b'\n'; (1 << 20) + 1], "larger than 1 MiB"),
    ] {
        let scratch = Scratch::new(name, content);
        let told = Declared::read(scratch.file()).expect_err(name).to_string();
        assert!(told.contains(&scratch.file().display().to_string()), "{told}");
        assert!(told.contains(words), "{told}");
    }
    let missing = good.0.join("missing");
    let error = Declared::read(&missing).unwrap_err();
    assert!(
        matches!(&error, DeclaredError::Unreadable { path, .. } if *path == missing),
        "{error}"
    );
    let error = Declared::read(&good.0).unwrap_err();
    assert!(matches!(error, DeclaredError::Unreadable { .. }), "a directory: {error}");
}

#[test]
fn words_say_where_devices_come_from() {
    assert_eq!(Declared::from_spec("fake:8"), Ok(Declared::fake(8)));
    assert_eq!(Declared::from_spec("fake:0"), Ok(Declared::default()));
    assert_eq!(Declared::from_spec("none"), Ok(Declared::default()));
    for spec in ["", "fake", "fake:", "fake:x", "fake:-1", "fake:4097", "file:", "none:", "nvml"] {
        let error = Declared::from_spec(spec).expect_err(spec);
        assert_eq!(error, DeclaredError::NotASpec(spec.to_owned()));
        assert!(error.to_string().contains("`fake:8`"), "{error}");
    }
}

#[test]
fn fakes_are_like_real_ones() {
    let eight = Declared::fake(8).find().devices;
    let islands: Vec<_> = eight.iter().map(|device| device.island.unwrap()).collect();
    assert_eq!(islands, [0, 0, 0, 0, 1, 1, 1, 1]);
    assert!(eight.iter().all(|device| device.memory == Some(81_920) && device.pci.is_some()));
    assert!(eight.iter().all(|device| device.health == Health::Healthy));
    assert!(Declared::fake(3).find().devices.iter().all(|device| device.island.is_none()));
    let a100 = "cores=6912 core_mhz=1410 memory_mhz=1593 memory_bits=5120 pcie=4x16";
    let text = Declared::fake(8).to_string();
    assert_eq!(text.matches(a100).count(), 8, "{text}");
    // As many as there may be: the text refuses two of the same name.
    let many = Declared::fake(4096);
    assert_eq!(Declared::parse(&many.to_string()), Ok(many));
}

#[test]
fn nobody_watches_them() {
    let declared = Declared::fake(2);
    let found = declared.find();
    assert!(found.absences.is_empty());
    assert!(!declared.watches());
    assert_eq!(declared.observe(&found.devices), [None, None]);
    assert_eq!(declared.faults(&found.devices, Duration::from_millis(1)), []);
    let absences = Declared::default().find().absences;
    assert_eq!(absences[0].why, Why::NoneDeclared);
    assert_eq!(absences[0].to_string(), "declared: no device is declared");
}
