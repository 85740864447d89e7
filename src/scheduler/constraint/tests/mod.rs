mod ledger;
mod model;
