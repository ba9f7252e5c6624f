/**
 * Conversations of an Edge as an editor sees them: runs of one session, by agent. Also the keys of the messages that started them.
 *
 * Guarantees: a run without a session is a separate session, whose id has the digits of the run's. A message that continues it gives later runs that id.
 * Does not: list conversations without a run among the newest `NEWEST`, or show more runs of one.
 */
import type { HostActivity, HostChat, HostRun, HostSession } from "@corral/agent-host/host/HostBackend"
import type { RunMode } from "@corral/domain/approval/RunMode"
import type { AgentId, RunId, SessionId, WorkspaceId } from "@corral/domain/identity/Ids"
import { currentAgentId } from "@corral/domain/offer/Offer"
import type { Run, RunStatus } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { firstCharacters } from "@corral/domain/text/Cut"
import { parseStored } from "../store/StoreDamage.ts"
import type { Store } from "../store/Store.ts"

const NEWEST = 2_000
const TITLE = 200

/** What a list of sessions needs of a run. */
interface ListedRun {
  readonly id: RunId
  readonly workspace: WorkspaceId
  readonly agentId: AgentId
  readonly state: RunStatus
  readonly isIdle: boolean
  readonly mode: RunMode
  readonly model: string | undefined
  readonly createdAt: string
  readonly updatedAt: string
  /** The beginning of the message. */
  readonly text: string
}

/** Runs of a session, newest first. */
export interface Conversation {
  readonly id: SessionId
  readonly runs: readonly [ListedRun, ...ReadonlyArray<ListedRun>]
}

/** The session of a run that names none. */
export const sessionOfRun = ({ id, sessionId }: Pick<Run, "id" | "sessionId">): SessionId =>
  sessionId ?? (id.replace(/^run_/, "ses_") as SessionId) // as ids of sessions are shaped

/** Newest first. `condition`: of rows of `runs`. */
const listed = (condition: string): string =>
  `SELECT id, json_extract(snapshot, '$.sessionId', '$.workspace', '$.agentId', '$.state', '$.turn', '$.mode', '$.model', '$.createdAt', '$.updatedAt') AS facts,
  substr(json_extract(snapshot, '$.input.text'), 1, 2000) AS text
  FROM (SELECT id, snapshot FROM runs ${condition} ORDER BY id DESC LIMIT ${NEWEST})
  WHERE json_extract(snapshot, '$.replacedBy') IS NULL ORDER BY id DESC`

const NEWEST_RUNS = listed("")
const RUNS_OF_SESSION = listed("WHERE session_id = ? OR (id = ? AND session_id IS NULL)")

interface Row {
  readonly id: RunId
  readonly facts: string
  readonly text: string
}

type Facts = readonly [
  sessionId: SessionId | null,
  workspace: WorkspaceId,
  agentId: AgentId,
  state: RunStatus,
  turn: string | null,
  mode: RunMode,
  model: string | null,
  createdAt: string,
  updatedAt: string
]

const conversationsOf = (
  rows: ReadonlyArray<Row>,
  workspaces: ReadonlySet<WorkspaceId>
): ReadonlyArray<Conversation> => {
  const bySession = new Map<SessionId, [ListedRun, ...Array<ListedRun>]>()
  for (const row of rows) {
    const [sessionId, workspace, agentId, state, turn, mode, model, createdAt, updatedAt] =
      parseStored<Facts>(row.facts, "run")
    if (!workspaces.has(workspace)) continue
    const run: ListedRun = {
      id: row.id,
      workspace,
      agentId: currentAgentId(agentId),
      state,
      isIdle: turn === "idle",
      mode,
      model: model ?? undefined,
      createdAt,
      updatedAt,
      text: row.text
    }
    const id = sessionOfRun({ id: row.id, ...(sessionId === null ? {} : { sessionId }) })
    const runs = bySession.get(id)
    if (runs === undefined) bySession.set(id, [run])
    else runs.push(run)
  }
  return [...bySession].map(([id, runs]) => ({ id, runs }))
}

/** Conversations in these workspaces, the one with the newest run first. */
export const conversations = (
  store: Store["Service"],
  workspaces: ReadonlySet<WorkspaceId>
): ReadonlyArray<Conversation> => conversationsOf(store.all<Row>(NEWEST_RUNS), workspaces)

/** The conversation of a session in these workspaces. */
export const findConversation = (
  store: Store["Service"],
  workspaces: ReadonlySet<WorkspaceId>,
  id: SessionId
): Conversation | undefined =>
  conversationsOf(store.all<Row>(RUNS_OF_SESSION, id, id.replace(/^ses_/, "run_")), workspaces)[0]

const activityOf = ({ isIdle, state }: ListedRun): HostActivity => {
  if (state === "failed") return "failed"
  if (state === "waiting_approval" || state === "waiting_input") return "waiting"
  return isTerminal(state) || isIdle ? "idle" : "running"
}

const titleOf = ({ text }: ListedRun): string =>
  firstCharacters(messageOfPrompt(text).trimStart().split("\n", 1)[0] ?? "", TITLE)

/** Runs of one agent, newest first. */
export const runsOfChat = ({ runs }: Conversation, chatId: string): ReadonlyArray<ListedRun> =>
  runs.filter(({ agentId }) => agentId === chatId)

const chatOf = (id: AgentId, title: string, last: ListedRun): HostChat => ({
  id,
  title,
  agentId: id,
  activity: activityOf(last),
  updatedAt: last.updatedAt,
  mode: last.mode,
  ...(last.model === undefined ? {} : { model: last.model })
})

export const hostSession = (
  conversation: Conversation
): Omit<HostSession, "changes" | "people" | "rights"> => {
  const { id, runs } = conversation
  const [last] = runs
  const first = runs.at(-1) ?? last
  const title = titleOf(first)
  // The first one first.
  const agents = [...new Set(runs.map(({ agentId }) => agentId).toReversed())]
  const later = agents.slice(1).map((agentId) => {
    const [newest = last] = runsOfChat(conversation, agentId)
    return chatOf(agentId, agentId, newest)
  })
  const [newest = last] = runsOfChat(conversation, first.agentId)
  return {
    id,
    title,
    workspace: last.workspace,
    agentId: first.agentId,
    createdAt: first.createdAt,
    updatedAt: last.updatedAt,
    archived: false,
    chats: [chatOf(first.agentId, title, newest), ...later],
    defaultChat: last.agentId
  }
}

export const hostRun = (run: Run, key: string | undefined): HostRun => ({
  id: run.id,
  agentId: currentAgentId(run.agentId),
  state: run.state,
  mode: run.mode,
  ...(run.model === undefined ? {} : { model: run.model }),
  text: messageOfPrompt(run.input.text),
  ...(key === undefined ? {} : { key }),
  lastSeq: run.lastSeq,
  createdAt: run.createdAt,
  updatedAt: run.updatedAt
})

/** Idempotency scope of messages from editors. */
export const MESSAGE_SCOPE = "local agent host message"

/** Keys of the messages that started these runs, as long as they are kept. */
export const startKeys = (store: Store["Service"], ids: ReadonlyArray<RunId>): ReadonlyMap<RunId, string> => {
  const places = ids.map(() => "?").join(", ")
  const rows = store.all<{ readonly run: RunId; readonly key: string }>(
    // The answer to a message that was input of a live run has that run, in another state.
    `SELECT json_extract(body, '$.id') AS run, key FROM idempotency WHERE scope = ?
     AND json_extract(body, '$.state') = 'created' AND json_extract(body, '$.id') IN (${places})`,
    MESSAGE_SCOPE,
    ...ids
  )
  return new Map(rows.map(({ key, run }) => [run, key]))
}
