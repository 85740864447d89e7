-- The tables of a JobTracker's budgets in a PostgreSQL database (12 or later): what `jobtracker store init` makes.
-- docs/budgets-in-a-database.md explains them. Amounts are credits, exact to 12 decimals.
BEGIN;
-- Checks and the view use the server's own operators, whatever others have planted in "public".
SET LOCAL search_path = pg_catalog, pg_temp;

CREATE SCHEMA jobtracker;
COMMENT ON SCHEMA jobtracker IS 'The image of a JobTracker''s ledger, and an inbox of top-ups';

CREATE TABLE jobtracker.account (
    name text PRIMARY KEY CONSTRAINT account_has_a_name CHECK (name ~ '^[^[:space:][:cntrl:],]+$'),
    budget numeric(40, 12) NOT NULL,
    bid numeric(40, 12) NOT NULL DEFAULT 0,
    tick bigint NOT NULL DEFAULT 0,
    -- NaN and infinity are above every number.
    CONSTRAINT account_budget_is_0_to_10_12 CHECK (budget >= 0 AND budget <= 1000000000000),
    CONSTRAINT account_bid_is_0_to_10_12 CHECK (bid >= 0 AND bid <= 1000000000000)
) WITH (fillfactor = 50); -- Each tick changes the rows of charged queues: room beside them spares their index.
COMMENT ON TABLE jobtracker.account IS
    'Queues. Read at the JobTracker''s first start; from then on its image, in which other changes are overwritten';
COMMENT ON COLUMN jobtracker.account.bid IS 'Credits for one slot over one interval';
COMMENT ON COLUMN jobtracker.account.tick IS 'The tick whose publication changed the row last';

CREATE TABLE jobtracker.movement (
    ledger bigint NOT NULL,
    account text NOT NULL,
    day date NOT NULL,
    at timestamptz NOT NULL,
    reason text NOT NULL,
    amount numeric(40, 12) NOT NULL,
    made_by text NOT NULL DEFAULT '',
    note text NOT NULL DEFAULT '',
    PRIMARY KEY (account, day, reason, ledger)
) WITH (fillfactor = 50);
COMMENT ON TABLE jobtracker.movement IS 'What went into (above 0) and out of accounts: the image of the ledger';
COMMENT ON COLUMN jobtracker.movement.ledger IS 'The number of the ledger''s entry; 0 for the sum of a day''s charges';
COMMENT ON COLUMN jobtracker.movement.day IS 'Of UTC';
COMMENT ON COLUMN jobtracker.movement.reason IS
    'endowment, top_up, charge, adjustment, closing, transfer, allowance';

CREATE TABLE jobtracker.top_up (
    reference text PRIMARY KEY,
    account text NOT NULL,
    amount numeric(40, 12) NOT NULL,
    note text NOT NULL DEFAULT '',
    made_by text NOT NULL DEFAULT session_user,
    made_at timestamptz NOT NULL DEFAULT now(),
    state text NOT NULL DEFAULT 'waiting',
    answer text NOT NULL DEFAULT '',
    answered_at timestamptz,
    taken_by text,
    -- Visible ASCII: no two references look alike.
    CONSTRAINT top_up_reference_is_1_to_100_characters_without_blanks CHECK (reference ~ '^[!-~]{1,100}$'),
    CONSTRAINT top_up_account_is_a_name CHECK (account ~ '^[A-Za-z0-9._@-]{1,255}$'),
    CONSTRAINT top_up_note_is_at_most_150_characters CHECK (char_length(note) <= 150 AND note !~ '[[:cntrl:]]'),
    CONSTRAINT top_up_made_by_is_a_role CHECK (octet_length(made_by) BETWEEN 1 AND 63 AND made_by !~ '[[:cntrl:]]'),
    CONSTRAINT top_up_amount_is_within_10_12 CHECK (amount >= -1000000000000 AND amount <= 1000000000000),
    CONSTRAINT top_up_amount_is_not_0_at_12_decimals CHECK (amount <> 0),
    CONSTRAINT top_up_state_is_known CHECK (state IN ('waiting', 'taken', 'refused'))
);
CREATE INDEX top_up_waiting ON jobtracker.top_up (made_at) WHERE state = 'waiting';
COMMENT ON TABLE jobtracker.top_up IS
    'Insert (reference, account, amount, note); the JobTracker takes each row over once and says so in state and answer';

COMMENT ON COLUMN jobtracker.top_up.taken_by IS 'The state database whose ledger has it';

CREATE TABLE jobtracker.publication (
    only_row boolean PRIMARY KEY DEFAULT true CONSTRAINT publication_is_one_row CHECK (only_row),
    layout integer NOT NULL DEFAULT 2,
    state text,
    tick bigint NOT NULL DEFAULT 0,
    ledger bigint NOT NULL DEFAULT 0,
    compacted bigint NOT NULL DEFAULT 0,
    published_at timestamptz
);
COMMENT ON TABLE jobtracker.publication IS
    'What the image shows: the last tick and ledger entry, when it was published, and by which state database';
INSERT INTO jobtracker.publication DEFAULT VALUES;

CREATE VIEW jobtracker.spent_by_month AS
    SELECT date_trunc('month', day)::date AS month, account,
        coalesce(-sum(amount) FILTER (WHERE reason = 'charge'), 0)::numeric(40, 12) AS spent,
        coalesce(sum(amount) FILTER (WHERE reason <> 'charge'), 0)::numeric(40, 12) AS added
    FROM jobtracker.movement
    GROUP BY 1, 2;
COMMENT ON VIEW jobtracker.spent_by_month IS
    'For each month of UTC and account: what was charged for slots, and what was added less what was taken out';

COMMIT;
