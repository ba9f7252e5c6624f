/**
 * Lists with many rows, put into a Hub's store by SQL: thousands in a second, several of them at the same moment.
 *
 * A row's id is made of its number, so that a test knows which rows were there and which came later.
 */
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { HubProcess } from "@corral/testing/hub/HubProcess"

export interface SeededList {
  readonly path: string
  /** What of an item says which row it is. */
  readonly key: (item: never) => string
  /** Rows of those numbers, last changed a day ago or, where they come `late`, now. */
  readonly insert: (from: number, count: number, late: boolean) => Promise<void>
}

/** Statistics for the planner, as PostgreSQL collects them by itself within a minute. Without them, many rows are read by plans for few. */
export const analyze = (hub: HubProcess): Promise<unknown> =>
  hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe("ANALYZE")))

/** 26 characters as an id has them, of a row's number, in no order. */
const ulid = "'01' || upper(substr(md5(i::text), 1, 24))"

export interface Seeds {
  readonly hub: HubProcess
  readonly userId: UserId
  readonly projectId: ProjectId
  readonly sessionId: string
  readonly targetId: string
}

const idOf = ({ id }: { readonly id: string }) => id

export const seededLists = ({
  hub,
  projectId,
  sessionId,
  targetId,
  userId
}: Seeds): Readonly<Record<string, SeededList>> => {
  /** `statement` selects from `s(i, at)`: the number of a row and its moment. */
  const list = (path: string, key: SeededList["key"], ...statements: ReadonlyArray<string>): SeededList => ({
    path,
    key,
    insert: (from, count, late) =>
      hub.people.act(
        Effect.flatMap(SqlClient.SqlClient, (sql) =>
          Effect.forEach(
            statements,
            (statement) =>
              sql.unsafe(
                `WITH s AS (
                  SELECT i, date_trunc('second', now()) - interval '${late ? 0 : 1} day' + (i / 5) * interval '1 millisecond' AS at
                  FROM generate_series($1::int, $2::int) i
                ) ${statement}`,
                [from, from + count - 1]
              ),
            { discard: true }
          )
        )
      )
  })

  const projects = `INSERT INTO projects (id, name, visibility, created_at, updated_at)
    SELECT 'prj_' || ${ulid}, 'Project ' || i, 'private', at, at FROM s`
  const ownership = `INSERT INTO project_members (project_id, user_id, role, added_at)
    SELECT 'prj_' || ${ulid}, '${userId}', 'owner', at FROM s`
  const sessions = `INSERT INTO sessions (id, project_id, title, state, created_by, created_at, updated_at)
    SELECT 'ses_' || ${ulid}, '${projectId}', 'Session ' || i, 'active', '${userId}', at, at FROM s`

  return {
    projects: list("/client/projects", idOf, projects, ownership),
    "sessions of a project": list(`/client/sessions?projectId=${projectId}`, idOf, sessions),
    "sessions of a state": list(`/client/sessions?projectId=${projectId}&state=active`, idOf, sessions),
    "all sessions": list("/client/sessions", idOf, sessions),
    messages: list(
      `/client/sessions/${sessionId}/messages`,
      idOf,
      `INSERT INTO messages (id, session_id, user_id, text, created_at)
        SELECT 'msg_' || ${ulid}, '${sessionId}', '${userId}', 'text', at FROM s`
    ),
    "agents of a session": list(
      `/client/sessions/${sessionId}/agents`,
      idOf,
      `INSERT INTO session_agents (id, session_id, agent_id, label, target_id, workspace, added_by, added_at)
        SELECT 'agt_' || ${ulid}, '${sessionId}', 'scripted', 'Agent', '${targetId}', 'site', '${userId}', at FROM s`
    ),
    devices: list(
      "/client/devices",
      idOf,
      `INSERT INTO devices (id, owner_id, name, kind, public_key, created_at)
        SELECT 'dev_' || ${ulid}, '${userId}', 'box', 'edge', substr(md5(i::text) || md5(i::text), 1, 42) || 'A', at FROM s`
    ),
    members: list(
      `/client/projects/${projectId}/members`,
      (member: { readonly userId: string }) => member.userId,
      `INSERT INTO users (id, issuer, subject, name, created_at)
        SELECT 'usr_' || ${ulid}, 'https://issuer.example', 'seed ' || i, 'Person', at FROM s`,
      `INSERT INTO project_members (project_id, user_id, role, added_at)
        SELECT '${projectId}', 'usr_' || ${ulid}, 'viewer', at FROM s`
    ),
    "chat accounts": list(
      "/client/chat-bindings",
      idOf,
      `INSERT INTO chat_bindings (id, platform, app, tenant, account, user_id, created_at)
        SELECT 'cbd_' || ${ulid}, 'feishu', 'cli_1', 't1', 'ou_' || i, '${userId}', at FROM s`
    ),
    "linked workspaces": list(
      `/client/projects/${projectId}/workspaces`,
      (link: { readonly workspace: string }) => link.workspace,
      `INSERT INTO workspace_links (project_id, target_id, workspace, added_by, added_at)
        SELECT '${projectId}', '${targetId}', 'w' || i, '${userId}', at FROM s`
    )
  }
}
