/** Last authentication of the user at the identity provider, which new credentials require. */
export const signInTimeMigration = [
  `ALTER TABLE sign_ins ADD COLUMN authenticated_at timestamptz`,
  `UPDATE sign_ins SET authenticated_at = created_at`,
  `ALTER TABLE sign_ins ALTER COLUMN authenticated_at SET NOT NULL`
]
