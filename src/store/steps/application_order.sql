-- To version 4: reports read jobs and applications in the order of their acceptance.
CREATE INDEX application_by_order ON application (accept_order);
