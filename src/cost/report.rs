//! [`MachCap`] as text for other programs.

use super::json::object;
use super::{MachCap, Network};

impl MachCap {
    /// As JSON: what other tools know by these names, and what they do not under names of its own. What is not known is `null`.
    ///
    /// ```
    /// use ternlease::MachCap;
    ///
    /// let json = MachCap::example().to_json();
    /// assert!(json.contains("\"cores_physical\": 8"));
    /// ```
    pub fn to_json(&self) -> String {
        let billions = |rate: u64| rate as f64 / 1e9;
        let Self { rates, .. } = self;
        object(|o| {
            o.integer("cores_physical", self.cores_physical);
            o.integer("cores_logical", self.cores_logical);
            o.integer("freq_mhz", self.freq_mhz);
            o.integer("mem_total", self.mem_total);
            o.integer("mem_available", self.mem_available);
            o.optional("disk_total", self.disk_total);
            o.optional("disk_free", self.disk_free);
            match self.network {
                Network::Card(mbps) => o.integer("nic_mbps", mbps),
                _ => o.optional("nic_mbps", None::<u64>),
            }
            o.float("disk_bw_gbs", billions(self.disk.both_ways()));
            o.boolean("has_battery", self.battery.is_some());
            o.optional("battery_pct", self.battery.and_then(|battery| battery.percent));
            o.object("roofline", |o| {
                o.float("peak_gflops", billions(rates.flop64_all.per_second));
                o.float("mem_bw_gbs", billions(rates.triad_all.per_second));
                o.float("single_core_gflops", billions(rates.flop64.per_second));
                o.float("core_scaling", self.core_scaling());
            });
            o.text("processor", &self.processor);
            o.integer("cores_usable", self.cores_usable);
            o.text("device_class", self.device_class().name());
            o.text(
                "network",
                match self.network {
                    Network::None => "none",
                    Network::Unknown => "unknown",
                    Network::Card(_) => "card",
                },
            );
            o.integer("compute_budget", self.compute_budget());
            o.optional("rates_age_seconds", self.age().map(|age| age.as_secs()));
            o.object("rates", |o| {
                for (name, rate) in rates.named() {
                    o.object(name, |o| {
                        o.integer("per_second", rate.per_second);
                        o.integer("usual", rate.usual);
                        o.float("spread", f64::from(rate.spread_permille) / 1000.0);
                        o.text("source", rate.source.name());
                    });
                }
            });
        })
    }
}
