//! Credits, accounts, allocation ticks, ledger, ACL, signatures, replay guard. Pure.

/// Placeholder until the market lands.
#[derive(Clone, Debug)]
pub enum MarketFact {}
/// Placeholder until the market lands.
#[derive(Clone, Debug)]
pub struct JobSignature;
/// Placeholder until the market lands.
#[derive(Clone, Debug)]
pub struct ServletRequest;
/// Placeholder until the market lands.
#[derive(Clone, Debug)]
pub struct Answer;
/// Placeholder until the market lands.
#[derive(Clone, Debug)]
pub struct MarketError;
