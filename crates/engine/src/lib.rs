//! The engine: the only room that sees every other. It moves a URL through them and makes each
//! commit.
//!
//! ```text
//!  Crawl ──> ring: seed ─> schedule ─> fetch ─> extract ─> admit ─> commit ──> journal, archive
//!              ^                                                      │
//!              └──────────────── Repository, Frontier <───────────────┤
//!                            index, link graph, catalog, Analyzers <──┘
//! ```
//!
//! What the journal names has happened; what it does not name has not. Everything else here
//! follows from that sentence.

mod addresses;
mod alias;
mod analysis;
mod analyzed;
mod analyzer;
mod answers;
mod begun;
mod change;
mod checked_line;
mod checkpoint;
mod collection;
mod collection_file;
mod company;
mod control;
mod coordinator;
mod copies;
mod cpu_share;
mod crashes;
mod crawl;
mod day_pages;
mod digests;
mod directory;
mod ending;
mod erase;
mod errands;
mod error;
mod events;
mod executor;
mod explain;
mod feedback;
mod followers;
mod given;
mod growth;
mod happening;
mod history;
mod hours;
mod in_words;
mod journal_writer;
mod judge;
mod lanes;
mod last_run;
mod ledger;
mod limits;
mod logins;
mod lost_captures;
mod manual;
mod memory;
mod message;
mod mistakes;
mod next_run;
mod nowhere;
mod outage;
mod parts;
mod past;
mod progress;
mod rates;
mod reading;
mod rekey;
mod removals;
mod repair;
mod report;
mod reserve;
mod ring;
mod robots_book;
mod run_changes;
mod schedule;
mod seeds_file;
mod sense;
mod settings_text;
mod shares;
mod sites;
mod stage;
mod stats;
mod steering;
mod tables;
mod tester;
mod traps;
mod turn;
mod unset;
mod url_list;
mod urls;
mod watch;
mod webhook;
mod workers;
mod wrong_setting;
mod wronged;

pub use analyzer::{Analyzer, Ignore, Insight};
pub use begun::begun_damage;
pub use checked_line::{DamagedLine, checked_line, damaged_lines};
pub use collection::{ArchiveSection, CollectionConfig, Mode, NewHosts, Refill, RunConfig};
pub use collection_file::CollectionFile;
pub use company::Company;
pub use control::Control;
pub use coordinator::{Coordinator, CoordinatorConfig, Desk, Tell};
pub use cpu_share::CpuShare;
pub use crawl::{Crawl, robot_token};
pub use directory::{Directory, DirectoryLock, Layout};
pub use erase::{Erasure, erase};
pub use error::EngineError;
pub use events::{EventLog, damaged_events, events};
pub use executor::{DryRun, Executor, ThisMachine};
pub use explain::{Explanation, InLink, Met};
pub use feedback::{Asked, Event, Feedback, Level, Progress, Silence};
pub use followers::{
    CatalogSection, IndexSection, LinksSection, Ranked, Ranks, Rebuilt, rank_collection,
    rebuild_catalog, rebuild_index, rebuild_links, renew_index,
};
pub use happening::{Happening, tell_attempt};
pub use hours::Hours;
pub use in_words::{in_words, seeds_file_in_words};
pub use last_run::LastRun;
pub use limits::{connections_served, hosts_at_once};
pub use logins::{LoginConfig, LoginKind};
pub use lost_captures::LostCaptures;
pub use manual::{Described, annotated, described, manual};
pub use mistakes::nearest;
pub use next_run::next_run_in_words;
pub use parts::Parts;
pub use reading::{Growth, Overview, Reading, RunSummary};
pub use rekey::{Rekeyed, rekey};
pub use removals::Removals;
pub use repair::{Repaired, WithoutEnd, go_on_without_end, repair};
pub use report::{EndReason, Report};
pub use run_changes::RunChanges;
pub use schedule::{Due, Missed, Schedule, ScheduleConfig};
pub use sense::{Senseless, sensible};
pub use sites::SiteConfig;
pub use stats::Stats;
pub use steering::{ControlSocket, Run, Runs, TakenUp, ask, hand_over, run_of, tell_of_removals};
pub use tables::{catalog_reader, size_of, store_of, tables};
pub use tester::{MatchedSite, Tester, Trial};
pub use traps::{Brought, Sketch, Suspicion, TrapWatch, TrapsConfig, patterns, rule};
pub use turn::Turn;
pub use url_list::{AddReport, INVALID_TOLD, UrlList, forget_urls};
pub use watch::{Attempted, Counts, Happened, Histogram, Point, SPANS, Watch};
pub use webhook::{Delivery, DeliveryState, WebhookConfig, deliveries, deliveries_damage};
pub use wrong_setting::WrongSetting;
