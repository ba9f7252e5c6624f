/** What a user has uploaded lately, for the quota of a day. */
export const uploadQuotasMigration = [
  `CREATE INDEX uploads_of_user_by_time ON uploads (user_id, created_at) INCLUDE (bytes)`
]
