/** What a repeated exchange of a token needs to give the same new token. */
export const successorsMigration = [`ALTER TABLE replaced_tokens ADD COLUMN salt bytea`]
