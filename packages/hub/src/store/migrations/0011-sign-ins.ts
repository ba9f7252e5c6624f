/** Description of a sign-in for its user, and lookup of users by verified email address. */
export const signInsMigration = [
  `ALTER TABLE sign_ins ADD COLUMN client_name text`,
  `CREATE INDEX users_by_email ON users (lower(email)) WHERE email IS NOT NULL`
]
