//! Credits, accounts, allocation ticks, ledger, ACL, signatures, replay guard. Pure.
