-- +goose Up
-- From where a person has signed in: guesses from elsewhere at their account do
-- not slow them there. address is an IPv4 address or the /64 of an IPv6 one.
CREATE TABLE known_addresses (
  user_id INTEGER NOT NULL REFERENCES users (id),
  address TEXT NOT NULL,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, address)
) STRICT, WITHOUT ROWID;
