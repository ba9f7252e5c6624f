/** Messages that wait after Stop or an error until a user continues. `session_agents.held` is JSON. */
export const heldQueuesMigration = [
  `ALTER TABLE messages ADD COLUMN held boolean NOT NULL DEFAULT false`,
  `ALTER TABLE session_agents ADD COLUMN held text`
]
