-- +goose Up
-- What the login names: a user, an organisation, a repository; empty until it is known.
ALTER TABLE account ADD COLUMN target VARCHAR(32) COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE account DROP COLUMN target;
