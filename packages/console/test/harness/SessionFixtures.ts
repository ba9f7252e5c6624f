/** Sessions for tests of finding them: turns that are over, days that have passed, and thousands of rows in the Hub's database. */
import { assert } from "@effect/vitest"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { makeSession } from "@corral/testing/hub/People"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { Client } from "pg"

/** A session of the owner with the scripted agent. */
export const sessionWithAgent = async (joined: Joined, title: string, mode = "ask"): Promise<Session> => {
  const session = await makeSession(joined.owner, { id: joined.projectId }, title)
  const added = await joined.owner.ask("POST", `/client/sessions/${session.id}/agents`, {
    body: { agentId: "scripted", targetId: joined.deviceId, workspace: "ws", mode }
  })
  assert.strictEqual(added.status, 201, added.text)
  return session
}

export const sendMessage = async (joined: Joined, session: Session, text: string): Promise<Message> => {
  const sent = await joined.owner.ask<Message>("POST", `/client/sessions/${session.id}/messages`, {
    body: { text }
  })
  assert.strictEqual(sent.status, 201, sent.text)
  return sent.body
}

/** The newest run of the session, once `holds` returns true. */
export const turnWith = (joined: Joined, { id }: Session, holds: (run: HubRun) => boolean): Promise<HubRun> =>
  until(
    async () => {
      const path = `/client/runs?sessionId=${id}&limit=1`
      const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<HubRun> }>("GET", path)
      const [run] = body.items
      return run !== undefined && holds(run) ? run : undefined
    },
    "the turn as awaited",
    30_000
  )

const withDatabase = async (joined: Joined, work: (database: Client) => Promise<unknown>): Promise<void> => {
  const database = new Client({ connectionString: joined.hub.databaseUrl })
  await database.connect()
  try {
    await work(database)
  } finally {
    await database.end()
  }
}

/** Moves the session's last change, and its texts in the search, some days back. */
export const daysBack = (joined: Joined, { id }: Session, days: number): Promise<void> =>
  withDatabase(joined, async (database) => {
    const by = [id, `${days} days`]
    await database.query("UPDATE sessions SET updated_at = updated_at - $2::interval WHERE id = $1", by)
    await database.query("UPDATE search_documents SET at = at - $2::interval WHERE session_id = $1", by)
  })

/** Adds sessions of the project, one for each hour before now. */
export const manySessions = (joined: Joined, count: number): Promise<void> =>
  withDatabase(joined, (database) =>
    database.query(
      `INSERT INTO sessions (id, project_id, title, state, created_by, created_at, updated_at, titled)
       SELECT 'ses_01' || upper(lpad(to_hex(n), 24, '0')), $1, 'Session ' || n, 'active', $2,
         now() - n * interval '1 hour', now() - n * interval '1 hour', true
       FROM generate_series(1, $3::int) AS n ON CONFLICT DO NOTHING`,
      [joined.projectId, joined.owner.userId, count]
    )
  )
