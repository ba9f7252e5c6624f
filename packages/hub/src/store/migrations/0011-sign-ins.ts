/** What people tell their sign-ins apart by, and how they are found by the address that the identity provider vouches for. */
export const signInsMigration = [
  `ALTER TABLE sign_ins ADD COLUMN client_name text`,
  `CREATE INDEX users_by_email ON users (lower(email)) WHERE email IS NOT NULL`
]
