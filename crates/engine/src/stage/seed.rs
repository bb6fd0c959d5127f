//! Seed: what a person gave becomes the first URLs, recorded before any fetch.

use teia_base::FoundUrl;
use teia_base::filter::Candidate;
use teia_base::journal::{LinkVerdict, SeedRecord};
use teia_repository::Offer;
use url::Url;

use crate::collection::Mode;
use crate::judge::admission;
use crate::ring::Ring;

impl Ring {
    /// Offers the seeds; returns what the run's first entry says of them.
    pub(crate) fn offer_seeds(&mut self, seeds: &[(FoundUrl, bool)]) -> Vec<SeedRecord> {
        let wall = self.clock.wall();
        let mut records = Vec::new();
        for (url, fallback_http) in seeds {
            self.allow_private_seed(url);
            let verdict = self
                .workshop
                .judge()
                .before_or_refuse(&Candidate::seed(url.normal()));
            let admission = admission(verdict);
            let offered = self.repository.offer(
                &Offer {
                    url,
                    depth: 0,
                    referrer: None,
                    requisite: false,
                    chain: None,
                    last_modified: None,
                    seed: Some(*fallback_http),
                    admission,
                },
                wall,
            );
            let verdict = match offered.verdict {
                LinkVerdict::Readmitted if self.config.mode != Mode::Periodic => LinkVerdict::New,
                verdict => verdict,
            };
            records.push(SeedRecord {
                url: url.clone(),
                fallback_http: *fallback_http,
                verdict,
            });
            self.farms.meet(offered.host, url.normal().host_str());
            self.wake(offered.host);
        }
        records
    }

    /// A loopback or private seed given by hand allows exactly that address and port.
    pub(crate) fn allow_private_seed(&self, url: &FoundUrl) {
        if let (Some(allow), Ok(url)) = (&self.allow, Url::parse(url.request())) {
            allow(&url);
        }
    }
}
