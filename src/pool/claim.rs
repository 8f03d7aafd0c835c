//! Putting a claim for devices together.

use std::borrow::Cow;
use std::future::IntoFuture;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::filter::Filter;
use super::{GpuLease, GpuPool, PoolError};
use crate::inventory::Vendor;
use crate::manager::{Span, Ticket};
use crate::table::{Candidates, Claim, Error, LeaseId, Outcome, ResourceId, Take, Time};

/// A claim for devices in the making. It asks for nothing until [`try_now`](Self::try_now), [`wait`](Self::wait),
/// [`wait_for`](Self::wait_for) or `.await`.
///
/// Unless told otherwise: any one device, alone, without end, priority 0. In a pool without devices each of them gives `None` at once.
///
/// Independent claims need no holder's name: each gets one of its own. Give all claims of one line of work the same name if it claims more while
/// it holds some, so that deadlocks are seen.
#[derive(Debug, Clone, Copy)]
#[must_use = "a claim asks for nothing until it is tried, waited for or awaited"]
pub struct GpuClaim<'a> {
    pub(super) pool: &'a GpuPool,
    holder: Option<&'a str>,
    pub(super) count: u32,
    pub(super) take: Take,
    filter: Filter<'a>,
    ttl: Span,
    keep_alive: bool,
    wait: Span,
    priority: i16,
    spare: bool,
    preemptible: bool,
    preempt: bool,
    grace: Span,
    parent: Option<LeaseId>,
}

impl<'a> GpuClaim<'a> {
    #[inline]
    pub(super) fn new(pool: &'a GpuPool) -> Self {
        GpuClaim {
            pool,
            holder: None,
            count: 1,
            take: Take::Exclusive,
            filter: Filter::default(),
            ttl: Span::Forever,
            keep_alive: false,
            wait: Span::Forever,
            priority: 0,
            spare: false,
            preemptible: false,
            preempt: false,
            grace: Span::Zero,
            parent: None,
        }
    }

    /// Who asks: what others see, and what claims more while it holds some.
    pub fn holder(self, holder: &'a str) -> Self {
        GpuClaim { holder: Some(holder), ..self }
    }

    /// How many devices: all of these, or none. Linked ones if that can be; all of one vendor.
    pub fn devices(self, count: u32) -> Self {
        GpuClaim { count, ..self }
    }

    /// So many slots of each device, together with others, instead of all of it.
    pub fn slots(self, slots: u32) -> Self {
        let memory = self.amount().1;
        GpuClaim { take: Take::Amount { slots, memory }, ..self }
    }

    /// So much memory of each device (MiB), together with others, instead of all of it. Nothing but the leases keeps anybody from using more.
    pub fn memory(self, memory: u32) -> Self {
        let slots = self.amount().0;
        GpuClaim { take: Take::Amount { slots, memory }, ..self }
    }

    fn amount(&self) -> (u32, u32) {
        match self.take {
            Take::Amount { slots, memory } => (slots, memory),
            _ => (0, 0),
        }
    }

    /// Only devices with at least so much memory (MiB) in all.
    pub fn min_memory(mut self, memory: u32) -> Self {
        self.filter.min_memory = memory;
        self
    }

    /// Only devices that can compute at least this, as NVIDIA counts it.
    pub fn min_compute_capability(mut self, major: u32, minor: u32) -> Self {
        self.filter.min_capability = Some((major, minor));
        self
    }

    /// Only devices of this vendor.
    pub fn vendor(mut self, vendor: Vendor) -> Self {
        self.filter.vendor = Some(vendor);
        self
    }

    /// Only these devices, the preferred ones first: by UUID (or how it begins), PCI address, vendor and number (`nvidia:0`), or number.
    pub fn named(mut self, names: &'a [&'a str]) -> Self {
        self.filter.named = Some(names);
        self
    }

    /// How long the lease lasts without renewal.
    pub fn ttl(self, ttl: impl Into<Span>) -> Self {
        GpuClaim { ttl: ttl.into(), ..self }
    }

    /// A thread of the library's own renews the lease in time, for as long as the [`GpuLease`] lives. Should the process hang as a whole, the lease ends.
    pub fn keep_alive(self) -> Self {
        GpuClaim { keep_alive: true, ..self }
    }

    /// Higher goes first.
    pub fn priority(self, priority: i16) -> Self {
        GpuClaim { priority, ..self }
    }

    /// Take only what nobody else waits for; when somebody does, give it back after this notice.
    pub fn spare(self, notice: impl Into<Span>) -> Self {
        GpuClaim { spare: true, grace: notice.into(), ..self }
    }

    /// A claim of higher priority that asks to preempt may take the lease after this notice.
    pub fn preemptible(self, notice: impl Into<Span>) -> Self {
        GpuClaim { preemptible: true, grace: notice.into(), ..self }
    }

    /// Take preemptible leases of lower priority rather than wait for their end.
    pub fn preempt(self) -> Self {
        GpuClaim { preempt: true, ..self }
    }

    /// The lease ends with its parent, and never later.
    pub fn child_of(self, parent: LeaseId) -> Self {
        GpuClaim { parent: Some(parent), ..self }
    }

    /// For how long the claim stays in line once it is awaited. Without end if not said.
    pub fn patience(self, wait: impl Into<Span>) -> Self {
        GpuClaim { wait: wait.into(), ..self }
    }

    /// A lease now, or [`Error::Busy`]. Overtakes nobody who waits.
    #[inline]
    pub fn try_now(self) -> Result<Option<GpuLease>, PoolError> {
        match self.patience(Span::Zero).ask()? {
            Asked::NoDevices => Ok(None),
            Asked::Granted(lease) => Ok(Some(lease)),
            // A claim that does not wait is never put in line.
            Asked::Waiting(_) => Err(Error::Busy.into()),
        }
    }

    /// A lease, however long it takes. Blocks the thread.
    pub fn wait(self) -> Result<Option<GpuLease>, PoolError> {
        match self.ask()? {
            Asked::NoDevices => Ok(None),
            Asked::Granted(lease) => Ok(Some(lease)),
            Asked::Waiting(ticket) => self.lease(ticket.wait()?).map(Some),
        }
    }

    /// A lease within this time, or [`Error::Refused`]. Blocks the thread.
    pub fn wait_for(self, patience: impl Into<Span>) -> Result<Option<GpuLease>, PoolError> {
        match patience.into() {
            Span::Zero => self.try_now(),
            patience => self.patience(patience).wait(),
        }
    }

    /// Takes a place in line if need be, for those who cannot keep a [`GpuLease`] or a ticket: what becomes of the claim is asked of the pool's
    /// [manager](GpuPool::manager) by its id. `None` if the pool has no devices. Nobody withdraws the claim, gives the devices back or keeps the
    /// lease alive but those who know the ids; see [`GpuPool::keep_alive`].
    ///
    /// ```
    /// use ternlease::{GpuPool, Outcome, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let Some(Outcome::Granted(lease)) = pool.claim().submit()? else { panic!("it is free") };
    /// let Some(Outcome::Waiting(ticket)) = pool.claim().submit()? else { panic!("it is taken") };
    /// assert_eq!(pool.manager().ticket_place(ticket), Some(1));
    /// pool.manager().release(lease)?;
    /// assert!(pool.manager().ticket_place(ticket).is_none(), "it has the device");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn submit(self) -> Result<Option<Outcome>, PoolError> {
        self.place()
    }

    #[inline]
    fn ask(&self) -> Result<Asked, PoolError> {
        Ok(match self.place()? {
            None => Asked::NoDevices,
            Some(Outcome::Granted(id)) => Asked::Granted(self.lease(id)?),
            Some(Outcome::Waiting(id)) => {
                Asked::Waiting(Ticket::waiting(&self.pool.inner.manager, id))
            }
        })
    }

    /// Puts the claim before the table; `None` if there are no devices.
    #[inline]
    fn place(&self) -> Result<Option<Outcome>, PoolError> {
        let inner = &*self.pool.inner;
        if inner.devices.is_empty() {
            return Ok(None);
        }
        let candidates = self.candidates()?;
        let mut buffer = [0; 32];
        let holder = match self.holder {
            Some(holder) => holder,
            None => claim_name(inner.manager.owner(), inner.next_claim(), &mut buffer),
        };
        Ok(Some(inner.manager.ask(&self.for_candidates(holder, &candidates)?)?))
    }

    /// The devices that may serve it.
    #[inline]
    pub(super) fn candidates(&self) -> Result<Cow<'_, [ResourceId]>, PoolError> {
        let inner = &*self.pool.inner;
        Ok(match self.count {
            1 if self.filter.is_empty() => Cow::Borrowed(&inner.ids),
            n if self.filter.is_empty() && n as usize <= inner.team.len() => {
                Cow::Borrowed(&inner.team)
            }
            n => Cow::Owned(inner.candidates(&self.filter, n)?),
        })
    }

    /// As the table takes it.
    #[inline]
    pub(super) fn for_candidates<'c>(
        &self,
        holder: &'c str,
        candidates: &'c [ResourceId],
    ) -> Result<Claim<'c>, Error> {
        let manager = &self.pool.inner.manager;
        Ok(Claim {
            holder,
            candidates: Candidates::Declared(candidates),
            count: self.count,
            take: self.take,
            ttl: self.measured_ttl()?,
            wait: manager.measure(self.wait)?,
            priority: self.priority,
            spare: self.spare,
            preemptible: self.preemptible,
            preempt: self.preempt,
            grace: manager.measure(self.grace)?,
            parent: self.parent,
            owner: 0,
        })
    }

    fn measured_ttl(&self) -> Result<Time, Error> {
        self.pool.inner.manager.measure(self.ttl)
    }

    /// The lease that the claim was granted, renewed from now on if that is wanted.
    #[inline]
    fn lease(&self, id: LeaseId) -> Result<GpuLease, PoolError> {
        let mut lease = GpuLease::of(self.pool, id)?;
        if self.keep_alive {
            lease.keep_alive(self.measured_ttl()?)?;
        }
        Ok(lease)
    }
}

/// What became of a claim.
enum Asked {
    NoDevices,
    Granted(GpuLease),
    Waiting(Ticket),
}

/// `claim-N`, or `claim-P-N` in a process that is one of several: written where it costs nothing.
fn claim_name(process: u16, number: u64, buffer: &mut [u8; 32]) -> &str {
    const PREFIX: &[u8] = b"claim-";
    let mut at = write_before(buffer, buffer.len(), number);
    if process != 0 {
        at -= 1;
        buffer[at] = b'-';
        at = write_before(buffer, at, process.into());
    }
    at -= PREFIX.len();
    buffer[at..at + PREFIX.len()].copy_from_slice(PREFIX);
    std::str::from_utf8(&buffer[at..]).unwrap_or("claim")
}

/// Writes the digits of a number so that they end before `at`; where they begin.
fn write_before(buffer: &mut [u8; 32], mut at: usize, mut number: u64) -> usize {
    loop {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return at;
        }
    }
}

/// `pool.claim().await`, on any executor. Dropping the future withdraws the claim.
impl<'a> IntoFuture for GpuClaim<'a> {
    type Output = Result<Option<GpuLease>, PoolError>;
    type IntoFuture = GpuClaiming<'a>;

    fn into_future(self) -> Self::IntoFuture {
        GpuClaiming { claim: self, ticket: None }
    }
}

/// A claim for devices that is awaited. It asks when it is polled first.
#[derive(Debug)]
#[must_use = "a future asks for nothing until it is awaited"]
pub struct GpuClaiming<'a> {
    claim: GpuClaim<'a>,
    ticket: Option<Ticket>,
}

impl Future for GpuClaiming<'_> {
    type Output = Result<Option<GpuLease>, PoolError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let claim = self.claim;
        let mut ticket = match self.ticket.take() {
            Some(ticket) => ticket,
            None => match claim.ask()? {
                Asked::NoDevices => return Poll::Ready(Ok(None)),
                Asked::Granted(lease) => return Poll::Ready(Ok(Some(lease))),
                Asked::Waiting(ticket) => ticket,
            },
        };
        match Pin::new(&mut ticket).poll(context) {
            Poll::Ready(lease) => Poll::Ready(claim.lease(lease?).map(Some)),
            Poll::Pending => {
                self.ticket = Some(ticket);
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::claim_name;

    #[test]
    fn claims_are_numbered() {
        for number in [0, 9, 10, u64::MAX] {
            assert_eq!(claim_name(0, number, &mut [0; 32]), format!("claim-{number}"));
            let shared = format!("claim-65535-{number}");
            assert_eq!(claim_name(u16::MAX, number, &mut [0; 32]), shared);
        }
    }
}
