//! Parser for the allocation file: XML text in, [`Allocations`] and warnings out (1.2.1 `PoolManager.reloadAllocs`).
//!
//! Stricter than the original where it would continue with nonsense: negative numbers, nameless pools and users, a pool
//! inside of itself. A `<pool>` in a `<pool>` is this project's own.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::{Kind, PartsPerMillion, PerKind, nearest};

use super::allocations::{Allocations, DeclaredPool, PoolSettings, SchedulingMode};
use super::xml_element::{Element, excerpt};

/// What may stand in `<allocations>`.
const FILE_ELEMENTS: [&str; 7] = [
    "pool",
    "user",
    "userMaxJobsDefault",
    "poolMaxJobsDefault",
    "defaultMinSharePreemptionTimeout",
    "fairSharePreemptionTimeout",
    "defaultPoolSchedulingMode",
];
/// What may stand in `<pool>`.
const POOL_ELEMENTS: [&str; 9] = [
    "pool",
    "minMaps",
    "minReduces",
    "maxMaps",
    "maxReduces",
    "maxRunningJobs",
    "weight",
    "minSharePreemptionTimeout",
    "schedulingMode",
];
/// What may stand in `<user>`.
const USER_ELEMENTS: [&str; 1] = ["maxRunningJobs"];
const MAX_WARNINGS: usize = 100;
/// Largest number, Java's.
const MAX_INT: u32 = i32::MAX as u32;
/// Largest weight, millionths: sums of weights stay far from overflow.
const MAX_WEIGHT: PartsPerMillion = PartsPerMillion(1_000_000_000 * PartsPerMillion::ONE.0);
const MAX_TIMEOUT_S: u64 = 1_000_000_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AllocationFile {
    pub(crate) allocations: Allocations,
    /// Questionable parts, at most 100.
    pub(crate) warnings: Vec<AllocationWarning>,
}

/// A questionable part of a file that loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AllocationWarning {
    /// Line, from 1.
    pub(crate) line: u32,
    pub(crate) text: String,
}

/// Why a file does not load. Nothing of it applies then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct AllocationFileError {
    pub(crate) line: u32,
    pub(crate) problem: AllocationProblem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AllocationProblem {
    #[error("{0}; expected XML with one element <allocations>")]
    Malformed(String),
    #[error("Bad fair scheduler config file: top-level element not <allocations>, but <{0}>")]
    Root(String),
    #[error("<{0}> without a name; expected <{0} name=\"...\">")]
    NoName(&'static str),
    #[error("<{tag}>{owner} = {value:?}: expected {expected}")]
    BadValue {
        tag: String,
        /// ` of pool P`, ` of user U` or nothing.
        owner: String,
        value: String,
        expected: &'static str,
    },
    #[error("<{tag}>{owner}: Unknown scheduling mode : {value}; expected 'fifo' or 'fair'")]
    Mode {
        tag: String,
        /// ` of pool P` or nothing.
        owner: String,
        value: String,
    },
    /// A pool that contains one of its own name, at any depth.
    #[error("pool {0} is inside of itself; expected another name")]
    InsideItself(String),
    #[error("pool {pool} is declared at line {first_line} too, in another pool; expected one place")]
    TwoPlaces { pool: String, first_line: u32 },
}

/// Fields of a pool that the file sets, before defaults apply.
#[derive(Debug, Default)]
struct PoolFields {
    parent: Option<String>,
    line: u32,
    min: PerKind<Option<u32>>,
    max: PerKind<Option<u32>>,
    max_running_jobs: Option<u32>,
    weight: Option<PartsPerMillion>,
    min_share_timeout_ms: Option<u64>,
    mode: Option<SchedulingMode>,
}

#[derive(Debug, Default)]
struct FileFields {
    pools: BTreeMap<String, PoolFields>,
    users: BTreeMap<String, Option<u32>>,
    user_max_jobs: Option<u32>,
    pool_max_jobs: Option<u32>,
    min_share_timeout_ms: Option<u64>,
    fair_share_timeout_ms: Option<u64>,
    mode: SchedulingMode,
    warnings: Vec<AllocationWarning>,
}

impl AllocationFile {
    /// Parses a file.
    pub(crate) fn parse(text: &str) -> Result<Self, AllocationFileError> {
        let root = Element::parse(text).map_err(|error| AllocationFileError {
            line: error.line,
            problem: AllocationProblem::Malformed(error.reason),
        })?;
        if root.tag != "allocations" {
            return Err(problem(&root, AllocationProblem::Root(excerpt(&root.tag))));
        }
        let mut fields = FileFields::default();
        for element in &root.children {
            fields.read(element)?;
        }
        Ok(fields.apply_defaults())
    }
}

impl FileFields {
    fn read(&mut self, element: &Element) -> Result<(), AllocationFileError> {
        match element.tag.as_str() {
            "pool" => self.read_pool(element, &[])?,
            "user" => self.read_user(element)?,
            "userMaxJobsDefault" => self.user_max_jobs = Some(int(element, "")?),
            "poolMaxJobsDefault" => self.pool_max_jobs = Some(int(element, "")?),
            "defaultMinSharePreemptionTimeout" => self.min_share_timeout_ms = Some(timeout_ms(element, "")?),
            "fairSharePreemptionTimeout" => self.fair_share_timeout_ms = Some(timeout_ms(element, "")?),
            "defaultPoolSchedulingMode" => self.mode = mode(element, "")?,
            _ => self.warn_of_unknown(element, "", &FILE_ELEMENTS),
        }
        Ok(())
    }

    /// A pool that is listed twice has the fields of both, the later ones where they differ.
    fn read_pool(&mut self, element: &Element, ancestors: &[&str]) -> Result<(), AllocationFileError> {
        let own_name = name_of(element, "pool")?;
        let mut path = ancestors.to_vec();
        path.push(own_name);
        let (name, parent) = (path.join("."), Some(ancestors.join(".")).filter(|_| !ancestors.is_empty()));
        if ancestors.contains(&own_name) {
            return Err(problem(element, AllocationProblem::InsideItself(excerpt(&name))));
        }
        if let Some(first) = self.pools.get(&name).map(|pool| pool.line) {
            let text = format!("Pool {} is listed again, first at line {first}", excerpt(&name));
            self.warn(element.line, format!("{text}: the fields of both count, the later ones where they differ"));
        }
        let new = PoolFields { parent: parent.clone(), line: element.line, ..PoolFields::default() };
        let pool = self.pools.entry(name.clone()).or_insert(new);
        if pool.parent != parent {
            let two = AllocationProblem::TwoPlaces { pool: excerpt(&name), first_line: pool.line };
            return Err(problem(element, two));
        }
        let owner = format!(" of pool {}", excerpt(&name));
        let mut unknown = Vec::new();
        for field in element.children.iter().filter(|field| field.tag != "pool") {
            if !pool.read(field, &owner)? {
                unknown.push(field);
            }
        }
        unknown.into_iter().for_each(|field| self.warn_of_unknown(field, &owner, &POOL_ELEMENTS));
        for child in element.children.iter().filter(|child| child.tag == "pool") {
            self.read_pool(child, &path)?;
        }
        Ok(())
    }

    fn read_user(&mut self, element: &Element) -> Result<(), AllocationFileError> {
        let name = name_of(element, "user")?;
        let owner = format!(" of user {}", excerpt(name));
        for field in &element.children {
            match field.tag.as_str() {
                "maxRunningJobs" => {
                    self.users.insert(name.to_owned(), Some(int(field, &owner)?));
                }
                _ => self.warn_of_unknown(field, &owner, &USER_ELEMENTS),
            }
        }
        Ok(())
    }

    /// An element that nothing reads; `owner` is ` of pool P`, ` of user U` or nothing.
    fn warn_of_unknown(&mut self, element: &Element, owner: &str, known: &[&'static str]) {
        let elsewhere = || FILE_ELEMENTS.into_iter().find(|tag| *tag == element.tag);
        let hint = match (nearest(&element.tag, known.iter().copied()), elsewhere()) {
            _ if element.tag == "queue" => " (expected <pool>)".to_owned(),
            (Some(tag), _) => format!(" (did you mean <{tag}>?)"),
            (None, Some(tag)) => format!(" (<{tag}> stands in <allocations> itself)"),
            (None, None) => format!(" (expected <{}>)", known.join(">, <")),
        };
        let tag = excerpt(&element.tag);
        self.warn(element.line, format!("Bad element in allocations file: {tag}{owner}{hint}; ignored"));
    }

    fn warn(&mut self, line: u32, text: String) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(AllocationWarning { line, text });
        }
    }

    fn apply_defaults(mut self) -> AllocationFile {
        let min = self.minimums();
        let undeclared = PoolSettings {
            max_running_jobs: self.pool_max_jobs,
            min_share_timeout_ms: self.min_share_timeout_ms,
            mode: self.mode,
            ..PoolSettings::default()
        };
        let mut pools = BTreeMap::new();
        for (name, pool) in std::mem::take(&mut self.pools) {
            for (kind, kind_name) in [(Kind::Map, "maps"), (Kind::Reduce, "reduces")] {
                let min = min[&name][kind];
                if let Some(max) = pool.max[kind].filter(|max| *max < min) {
                    let name = excerpt(&name);
                    self.warn(
                        pool.line,
                        format!(
                            "Pool {name} has max {kind_name} {max} less than min {kind_name} {min}: the max counts"
                        ),
                    );
                }
            }
            let settings = PoolSettings {
                min: min[&name],
                max: pool.max,
                max_running_jobs: pool.max_running_jobs.or(undeclared.max_running_jobs),
                weight: pool.weight.unwrap_or(undeclared.weight),
                min_share_timeout_ms: pool.min_share_timeout_ms.or(undeclared.min_share_timeout_ms),
                mode: pool.mode.unwrap_or(undeclared.mode),
            };
            pools.insert(name, DeclaredPool { parent: pool.parent, settings, line: pool.line });
        }
        let allocations = Allocations {
            pools,
            undeclared,
            user_max_running_jobs: self.users,
            default_user_max_running_jobs: self.user_max_jobs,
            fair_share_timeout_ms: self.fair_share_timeout_ms,
        };
        AllocationFile { allocations, warnings: self.warnings }
    }

    /// The minimum of each pool: its own, or the sum of its children's where that is larger.
    fn minimums(&mut self) -> BTreeMap<String, PerKind<u32>> {
        let mut of_children: BTreeMap<String, PerKind<u32>> = BTreeMap::new();
        let mut minimums = BTreeMap::new();
        let mut warnings = Vec::new();
        let depth = |name: &str| ancestors(&self.pools, name).count();
        let mut deepest_first: Vec<&String> = self.pools.keys().collect();
        deepest_first.sort_by_cached_key(|name| std::cmp::Reverse(depth(name)));
        for name in deepest_first {
            let (pool, children) = (&self.pools[name], of_children.get(name).copied().unwrap_or_default());
            let mut min = PerKind::default();
            for (kind, kind_name) in [(Kind::Map, "maps"), (Kind::Reduce, "reduces")] {
                min[kind] = pool.min[kind].unwrap_or(0).max(children[kind]);
                if let Some(own) = pool.min[kind].filter(|own| *own < children[kind]) {
                    let sum = children[kind];
                    let text = format!(
                        "Pool {} has min {kind_name} {own} less than its pools together, {sum}, which counts",
                        excerpt(name)
                    );
                    warnings.push((pool.line, text));
                }
            }
            if let Some(parent) = &pool.parent {
                let sum = of_children.entry(parent.clone()).or_default();
                Kind::ALL.into_iter().for_each(|kind| sum[kind] = sum[kind].saturating_add(min[kind]));
            }
            minimums.insert(name.clone(), min);
        }
        warnings.into_iter().for_each(|(line, text)| self.warn(line, text));
        minimums
    }
}

impl PoolFields {
    /// Reads a field; false if there is none of this name.
    fn read(&mut self, field: &Element, owner: &str) -> Result<bool, AllocationFileError> {
        match field.tag.as_str() {
            "minMaps" => self.min.map = Some(int(field, owner)?),
            "minReduces" => self.min.reduce = Some(int(field, owner)?),
            "maxMaps" => self.max.map = Some(int(field, owner)?),
            "maxReduces" => self.max.reduce = Some(int(field, owner)?),
            "maxRunningJobs" => self.max_running_jobs = Some(int(field, owner)?),
            "weight" => self.weight = Some(weight(field, owner)?),
            "minSharePreemptionTimeout" => self.min_share_timeout_ms = Some(timeout_ms(field, owner)?),
            "schedulingMode" => self.mode = Some(mode(field, owner)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn ancestors<'a>(pools: &'a BTreeMap<String, PoolFields>, name: &str) -> impl Iterator<Item = &'a str> {
    let parent = |name: &str| pools.get(name).and_then(|pool| pool.parent.as_deref());
    std::iter::successors(parent(name), move |name| parent(name))
}

fn problem(element: &Element, problem: AllocationProblem) -> AllocationFileError {
    AllocationFileError { line: element.line, problem }
}

fn name_of<'a>(element: &'a Element, tag: &'static str) -> Result<&'a str, AllocationFileError> {
    // Not trimmed, as in the original.
    let name = element.name.as_deref().filter(|name| !name.is_empty());
    name.ok_or_else(|| problem(element, AllocationProblem::NoName(tag)))
}

/// The trimmed text of a field without elements in it.
fn text_of(element: &Element) -> Option<&str> {
    element.text.as_deref().map(str::trim).filter(|_| element.children.is_empty())
}

fn bad_value(element: &Element, owner: &str, expected: &'static str) -> AllocationFileError {
    let value = excerpt(element.text.as_deref().unwrap_or_default().trim());
    let bad = AllocationProblem::BadValue { tag: element.tag.clone(), owner: owner.to_owned(), value, expected };
    problem(element, bad)
}

fn int(element: &Element, owner: &str) -> Result<u32, AllocationFileError> {
    let number = text_of(element).and_then(|text| text.parse().ok()).filter(|number| *number <= MAX_INT);
    number.ok_or_else(|| bad_value(element, owner, "a whole number from 0 to 2147483647"))
}

fn timeout_ms(element: &Element, owner: &str) -> Result<u64, AllocationFileError> {
    let seconds = text_of(element).and_then(|text| text.parse().ok()).filter(|seconds: &u64| *seconds <= MAX_TIMEOUT_S);
    let expected = "a whole number of seconds from 0 to 1000000000";
    seconds.map(|seconds| seconds * 1_000).ok_or_else(|| bad_value(element, owner, expected))
}

/// A positive weight never rounds to zero, which means something else.
fn weight(element: &Element, owner: &str) -> Result<PartsPerMillion, AllocationFileError> {
    let weight = text_of(element).and_then(|text| {
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        let is_positive = mantissa.contains(|digit: char| ('1'..='9').contains(&digit));
        PartsPerMillion::parse(text).map(|weight| weight.max(PartsPerMillion(u64::from(is_positive))))
    });
    let weight = weight.filter(|weight| *weight <= MAX_WEIGHT);
    weight.ok_or_else(|| bad_value(element, owner, "a decimal number from 0 to 1000000000"))
}

fn mode(element: &Element, owner: &str) -> Result<SchedulingMode, AllocationFileError> {
    let text = text_of(element).unwrap_or_default();
    match text.to_ascii_lowercase().as_str() {
        "fair" => Ok(SchedulingMode::Fair),
        "fifo" => Ok(SchedulingMode::Fifo),
        _ => {
            let (tag, owner, value) = (element.tag.clone(), owner.to_owned(), excerpt(text));
            Err(problem(element, AllocationProblem::Mode { tag, owner, value }))
        }
    }
}

impl fmt::Display for AllocationWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

#[cfg(test)]
#[path = "tests/allocation_file.rs"]
mod tests;
