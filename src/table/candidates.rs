//! From a claim's candidates to records.

use super::Table;
use super::memory::Memory;
use super::names::check_name;
use super::types::{Candidates, Error};

impl Candidates<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Candidates::Named(names) => names.len(),
            Candidates::Declared(ids) => ids.len(),
        }
    }

    pub(super) fn check_names(&self) -> Result<(), Error> {
        match self {
            Candidates::Named(names) => names.iter().try_for_each(|name| check_name(name)),
            Candidates::Declared(_) => Ok(()),
        }
    }
}

impl<M: Memory> Table<M> {
    /// Fills `found` with the candidates' records, making those that are not known yet.
    /// They have no reference yet: `drop_unused` forgets them again.
    #[inline(always)]
    pub(super) fn resolve(
        &self,
        candidates: &Candidates<'_>,
        found: &mut Vec<u32>,
    ) -> Result<(), Error> {
        found.clear();
        match candidates {
            Candidates::Named(names) => {
                for name in *names {
                    found.push(self.intern_resource(name)?);
                }
            }
            Candidates::Declared(ids) => {
                for id in *ids {
                    found.push(self.declared_resource(*id)?);
                }
            }
        }
        if found.len() > 1 { self.check_distinct(found) } else { Ok(()) }
    }

    /// Fills `found` with the candidates' records. False if one is not known, or is named twice.
    pub(super) fn find_candidates(
        &self,
        candidates: &Candidates<'_>,
        found: &mut Vec<u32>,
    ) -> bool {
        found.clear();
        match candidates {
            Candidates::Named(names) => {
                found.extend(names.iter().map_while(|name| self.find_resource(name)));
            }
            Candidates::Declared(ids) => {
                found.extend(ids.iter().map_while(|id| self.declared_resource(*id).ok()));
            }
        }
        found.len() == candidates.len() && self.check_distinct(found).is_ok()
    }

    fn check_distinct(&self, found: &[u32]) -> Result<(), Error> {
        const FEW: usize = 8;
        if found.len() <= FEW {
            let twice = (1..found.len()).any(|i| found[..i].contains(&found[i]));
            return if twice { Err(Error::DuplicateCandidate) } else { Ok(()) };
        }
        // The notes of these two passes are marks, not notes: leave none of them valid.
        let pass = self.scratch.begin_pass();
        let mark = |&index: &u32| self.notes_on(index).pass.replace(pass) == pass;
        let twice = found.iter().any(mark);
        self.scratch.begin_pass();
        if twice { Err(Error::DuplicateCandidate) } else { Ok(()) }
    }

    /// Forgets those that nothing refers to.
    pub(super) fn drop_unused(&self, candidates: &Candidates<'_>, found: &[u32]) {
        let Candidates::Named(_) = candidates else { return };
        for (i, &index) in found.iter().enumerate() {
            // A claim that names one twice is refused, but has found it twice.
            if self.resource_record(index).refs.get() == 0 && !found[..i].contains(&index) {
                self.drop_resource_if_unused(index);
            }
        }
    }
}
