//! Pools: devices, and claims for them.

use ternlease::{Env, ExpectedWait, GpuClaim, GpuPool, Outcome, PoolOptions, Span, Vendor};

use crate::Driver;
use crate::answer::{Problem, Step, list, ok, or_dash, trit};
use crate::words::Words;

const NO_DEVICES: Problem = Problem::Status("EMPTY");

impl Driver {
    pub fn pool_step(&mut self, verb: &str, mut words: Words) -> Step {
        if verb == "pool" {
            let mut options = PoolOptions::from_spec(words.option("devices").unwrap_or("host"))?;
            if let Some(slots) = words.option_number("slots")? {
                options = options.slots(slots);
            }
            self.pool = Some(GpuPool::on_with(self.manager()?, options)?);
            return ok();
        }
        let pool = self.pool.as_ref().ok_or(Problem::Nonsense)?;
        match verb {
            "capacity" => Ok(format!("OK {}", pool.capacity())),
            "pending" => Ok(format!("OK {}", pool.pending_claimers())),
            "try" => {
                let lease = pool.claim().try_now()?.ok_or(NO_DEVICES)?;
                self.labels.give_lease(words.next()?, lease.into_id());
                ok()
            }
            "gpu" | "gpu-enqueue" | "expected" => self.claim_devices(verb, words),
            "gpu-release" => {
                pool.manager().release(self.labels.lease(words.next()?))?;
                ok()
            }
            "devices" => {
                let places = self.places_of(words.next()?)?;
                list(places.into_iter().map(|place| place.to_string()))
            }
            "env" => {
                let lease = pool.take_up(self.labels.lease(words.next()?))?;
                let env = if words.has("uuid") { lease.env_by_uuid() } else { lease.env() }?;
                lease.into_id();
                list(lines(&env))
            }
            "device" => self.device(words.number()?),
            _ => list(pool.status().into_iter().enumerate().map(|(place, status)| {
                let oldest = status
                    .leases
                    .first()
                    .map_or("-".to_owned(), |lease| self.labels.of_lease(lease.id));
                format!("{place}:{}:{oldest}", trit(Some(status.health as i8)))
            })),
        }
    }

    fn claim_devices(&mut self, verb: &str, mut words: Words) -> Step {
        let pool = self.pool.as_ref().ok_or(Problem::Nonsense)?;
        let label = if verb == "expected" { "" } else { words.next()? };
        let named: Vec<&str> =
            words.option("devices").into_iter().flat_map(|it| it.split(',')).collect();
        let claim = options(pool.claim(), &words, &named)?;
        let claim = match words.option("parent") {
            Some(parent) => claim.child_of(self.labels.lease(parent)),
            None => claim,
        };
        match verb {
            "expected" => Ok(match claim.expected_wait()? {
                ExpectedWait::None => "OK none".to_owned(),
                ExpectedWait::About(wait) => format!("OK about {}", wait.as_nanos()),
                ExpectedWait::Unknown => "OK unknown".to_owned(),
                ExpectedWait::NoDevices => "OK no-devices".to_owned(),
            }),
            "gpu" => {
                let lease = match words.option_span("wait")? {
                    None => claim.try_now()?,
                    Some(patience) => claim.wait_for(patience)?,
                };
                self.labels.give_lease(label, lease.ok_or(NO_DEVICES)?.into_id());
                ok()
            }
            _ => {
                let outcome = claim.submit()?.ok_or(NO_DEVICES)?;
                self.labels.give(label, outcome);
                match outcome {
                    Outcome::Granted(_) => ok(),
                    Outcome::Waiting(_) => Err(Problem::Status("WAITING")),
                }
            }
        }
    }

    fn places_of(&self, label: &str) -> Result<Vec<usize>, Problem> {
        let pool = self.pool.as_ref().ok_or(Problem::Nonsense)?;
        let lease = pool.take_up(self.labels.lease(label))?;
        let places = lease
            .devices()
            .filter_map(|leased| pool.devices().iter().position(|device| device == leased))
            .collect();
        lease.into_id();
        Ok(places)
    }

    fn device(&self, place: usize) -> Step {
        let pool = self.pool.as_ref().ok_or(Problem::Nonsense)?;
        let beyond = Problem::Status("ERR_BAD_VALUE");
        let (device, key) = pool.devices().get(place).zip(pool.key(place)).ok_or(beyond)?;
        Ok(format!(
            "OK key={key} vendor={} index={} memory={} uuid={} pci={}",
            format!("{:?}", device.vendor).to_lowercase(),
            device.index,
            device.memory.map_or("-".to_owned(), |memory| memory.to_string()),
            or_dash(device.uuid.clone().unwrap_or_default()),
            or_dash(device.pci.map_or(String::new(), |pci| pci.to_string())),
        ))
    }
}

fn options<'a>(
    mut claim: GpuClaim<'a>,
    words: &Words<'a>,
    named: &'a [&'a str],
) -> Result<GpuClaim<'a>, Problem> {
    claim = claim.devices(words.option_number("count")?.unwrap_or(1));
    claim = claim.priority(words.option_number("priority")?.unwrap_or(0));
    claim = claim.patience(words.option_span("wait")?.unwrap_or(Span::Zero));
    claim = claim.ttl(words.option_span("ttl")?.unwrap_or(Span::Forever));
    claim = claim.min_memory(words.option_number("min-memory")?.unwrap_or(0));
    if let Some(slots) = words.option_number("slots")? {
        claim = claim.slots(slots);
    }
    if let Some(memory) = words.option_number("memory")? {
        claim = claim.memory(memory);
    }
    if let Some(holder) = words.option("holder") {
        claim = claim.holder(holder);
    }
    if !named.is_empty() {
        claim = claim.named(named);
    }
    claim = match words.option("vendor") {
        None => claim,
        Some("nvidia") => claim.vendor(Vendor::Nvidia),
        Some("amd") => claim.vendor(Vendor::Amd),
        Some("intel") => claim.vendor(Vendor::Intel),
        Some("other") => claim.vendor(Vendor::Other),
        Some(_) => return Err(Problem::Nonsense),
    };
    let notice = words.option_span("notice")?.unwrap_or(Span::Zero);
    if words.has("spare") {
        claim = claim.spare(notice);
    }
    if words.has("preemptible") {
        claim = claim.preemptible(notice);
    }
    if words.has("preempt") {
        claim = claim.preempt();
    }
    Ok(claim)
}

/// As C tells it: what is to be set, then what is to be removed.
fn lines(env: &Env) -> Vec<String> {
    let set = env.set.iter().map(|(name, value)| format!("{name}={value}"));
    set.chain(env.remove.iter().map(|name| (*name).to_owned())).collect()
}
