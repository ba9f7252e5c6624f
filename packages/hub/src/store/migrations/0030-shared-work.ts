/** When each work that one of several Hubs does is due. */
export const sharedWorkMigration = [
  `CREATE TABLE shared_work (name text PRIMARY KEY, due_at timestamptz(3) NOT NULL)`
]
