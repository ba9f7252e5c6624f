/** Sessions of a Hub as an editor's connection reads them: with their agents as chats, what these do now, and the runs of each. */
import type {
  ChatPlace,
  HostActivity,
  HostChat,
  HostPage,
  HostRun,
  HostSession
} from "@corral/agent-host/host/HostBackend"
import { decisionRefusal, roleRefusal } from "@corral/domain/access/Authorization"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import type { HubRun, HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { ProjectId, SessionId } from "@corral/domain/identity/Ids"
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Session } from "@corral/domain/session/Session"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { ChangeSets } from "../change/ChangeSets.ts"
import {
  AgentConversations,
  type AgentWork,
  type AgentWorkspace,
  type ChangedSession,
  type Conversation
} from "../conversation/AgentConversations.ts"
import { HubIdempotency } from "../HubIdempotency.ts"
import { Projects } from "../project/Projects.ts"
import { MessageStore } from "../session/MessageStore.ts"
import { EDGE_OWNER } from "../run/PlanTask.ts"
import { Runs } from "../run/Runs.ts"
import { decodePosition, encodePosition } from "../store/ListPage.ts"
import type { HostCalls, HostConnection } from "./HostCalls.ts"

/** Members whose names a session has, and its change sets that are counted. */
const MAX_MEMBERS = 200
const MAX_SETS = 100
/** The first messages of a chat that wait. */
const MAX_WAITING = 200

const isWaiting = (state: HubRunStatus): boolean => state === "waiting_approval" || state === "waiting_input"

const activityOf = ({ held, id }: AgentInstance, work: ReadonlyArray<AgentWork>): HostActivity => {
  const states = work.filter(({ agent }) => agent === id).map(({ state }) => state)
  if (states.some(isWaiting)) return "waiting"
  if (states.length > 0) return "running"
  return held?.reason === "failed" ? "failed" : "idle"
}

const chatOf = (
  instance: AgentInstance,
  { state, updatedAt }: Session,
  work: ReadonlyArray<AgentWork>
): HostChat => {
  const { agentId, closedAt, id, label, mode, model } = instance
  return {
    id,
    title: label,
    agentId,
    activity: activityOf(instance, work),
    updatedAt,
    mode,
    ...(model === undefined ? {} : { model }),
    ...(state === "active" && closedAt === undefined ? {} : { readOnly: true as const })
  }
}

const hostRunOf = (run: HubRun, key: string | undefined): HostRun => {
  const { agentId, createdAt, error, id, input, lastSeq, mode, model, state, updatedAt } = run
  return {
    id,
    agentId,
    state,
    mode,
    ...(model === undefined ? {} : { model }),
    text: messageOfPrompt(input.text),
    ...(key === undefined ? {} : { key }),
    lastSeq,
    ...(error === undefined ? {} : { error: error.message }),
    createdAt,
    updatedAt
  }
}

const isAt = ({ targetId, workspace }: AgentInstance, place: AgentWorkspace | undefined): boolean =>
  place === undefined || (targetId === place.targetId && workspace === place.workspace)

const sessionPosition = ({ id, updated_at }: ChangedSession): string =>
  encodePosition(updated_at.toISOString(), id)

/** As `POST /client/sessions/{id}/messages` names the keys of its caller. */
export const scopeOfMessages = (userId: string, sessionId: SessionId): string =>
  `${userId} POST /client/sessions/${sessionId}/messages`

/** A session of the connection, and its agents that the connection shows. */
interface ShownSession extends Conversation {
  readonly agents: readonly [AgentInstance, ...ReadonlyArray<AgentInstance>]
}

/** `undefined`: the connection does not show the session. */
const shownOf = ({ scope }: HostConnection, conversation: Conversation): ShownSession | undefined => {
  const { agents, projectId } = conversation.session
  if (scope.projectId !== undefined && projectId !== scope.projectId) return undefined
  const [first, ...others] = agents.filter((agent) => isAt(agent, scope.place))
  return first === undefined ? undefined : { ...conversation, agents: [first, ...others] }
}

/** Finds a session. One that the connection does not show is indistinguishable from one that does not exist. */
const sessionLookup = Effect.gen(function* () {
  const authority = yield* HubAuthority
  const conversations = yield* AgentConversations
  return Effect.fnUntraced(function* (connection: HostConnection, id: SessionId) {
    yield* authority.inSession("project.read", id)
    const [found] = yield* conversations.read(connection.principal.userId, [id])
    const shown = found && shownOf(connection, found)
    return shown ?? (yield* new PermissionDenied())
  })
})

const sessionOfShown = (
  { agents, session, work }: ShownSession,
  inProject: Pick<HostSession, "people" | "rights">,
  changes: Pick<HostSession, "changes">
): HostSession => {
  const { createdAt, defaultAgentInstanceId, id, state, title, unread, updatedAt } = session
  const [first, ...others] = agents
  const usual = agents.find((agent) => agent.id === defaultAgentInstanceId) ?? first
  return {
    id,
    title,
    workspace: first.workspace,
    agentId: first.agentId,
    createdAt,
    updatedAt,
    archived: state !== "active",
    ...(unread === undefined ? {} : { unread: unread > 0 }),
    chats: [chatOf(first, session, work), ...others.map((agent) => chatOf(agent, session, work))],
    defaultChat: usual.id,
    ...inProject,
    ...changes
  }
}

/** Describes sessions, with one read of each project. */
const sessionDescriptions = Effect.gen(function* () {
  const authority = yield* HubAuthority
  const projects = yield* Projects
  const sets = yield* ChangeSets

  /** What is undecided. In one session also what its newest run has written directly, if nothing is: a list would read each session's. */
  const changesOf = Effect.fnUntraced(function* (
    { principal }: HostConnection,
    { id: sessionId, openChanges, projectId }: Session,
    hasDirect: boolean
  ) {
    if (openChanges === undefined && !hasDirect) return {}
    const filter = { projectId, sessionId, ...(openChanges === undefined ? {} : { state: "open" as const }) }
    const found = yield* sets.list(
      principal.userId,
      filter,
      undefined,
      openChanges === undefined ? 1 : MAX_SETS
    )
    const shown = found.filter(
      ({ direct, fileCount }) => openChanges !== undefined || (direct && fileCount > 0)
    )
    if (shown.length === 0) return {}
    const total = (count: (set: (typeof shown)[number]) => number): number =>
      shown.reduce((sum, set) => sum + count(set), 0)
    return {
      changes: {
        files: total(({ fileCount }) => fileCount),
        additions: total(({ additions }) => additions),
        deletions: total(({ deletions }) => deletions)
      }
    }
  })

  const inProject = Effect.fnUntraced(function* (
    { mayWrite, principal }: HostConnection,
    projectId: ProjectId
  ) {
    const proof = yield* authority.inProject("project.read", projectId)
    const { role } = proof
    const { approvals } = yield* projects.get(proof)
    const members = yield* projects.members(proof, undefined, MAX_MEMBERS)
    const rights = {
      maySend: mayWrite && roleRefusal("session.write", role) === undefined,
      // Whether a request is the caller's own is decided with the request.
      mayDecide: principal.kind !== "key" && decisionRefusal(approvals, role, false) === undefined
    }
    const names = members.map(({ name, userId }) => [userId, name] as const)
    return { rights, people: new Map<string, string>([[EDGE_OWNER, "the owner of the device"], ...names]) }
  })

  return Effect.fnUntraced(function* (
    connection: HostConnection,
    shown: ReadonlyArray<ShownSession>,
    hasDirect = false
  ) {
    const projectIds = new Set(shown.map(({ session }) => session.projectId))
    const found = yield* Effect.forEach(projectIds, (id) =>
      Effect.map(inProject(connection, id), (description) => ({ id, description }))
    )
    return yield* Effect.forEach(shown, (each) =>
      Effect.gen(function* () {
        const { session } = each
        const project = found.find(({ id }) => id === session.projectId)
        if (project === undefined) return yield* new PermissionDenied()
        return sessionOfShown(each, project.description, yield* changesOf(connection, session, hasDirect))
      })
    )
  })
})

export interface ChatPage extends ChatPlace {
  readonly limit: number
  readonly cursor?: string
}

export const makeHostSessions = Effect.fnUntraced(function* ({ reading }: HostCalls) {
  const authority = yield* HubAuthority
  const conversations = yield* AgentConversations
  const describe = yield* sessionDescriptions
  const find = yield* sessionLookup
  const idempotency = yield* HubIdempotency
  const messages = yield* MessageStore
  const runs = yield* Runs

  const listWaiting = Effect.fnUntraced(function* (
    connection: HostConnection,
    { chatId, sessionId }: ChatPlace
  ) {
    const { agents } = yield* find(connection, sessionId)
    const agent = agents.find(({ id }) => id === chatId)
    if (agent === undefined) return []
    const proof = yield* authority.inSession("project.read", sessionId)
    const waiting = yield* messages.listWaiting(proof, sessionId, agent.id, MAX_WAITING)
    const keys = yield* idempotency.keysOf(scopeOfMessages(connection.principal.userId, sessionId))
    return waiting.map(({ id, text }) => ({ id, key: keys.get(id) ?? id, text }))
  })

  const listSessions = Effect.fnUntraced(function* (
    connection: HostConnection,
    { cursor, limit }: { readonly limit: number; readonly cursor?: string }
  ) {
    const { principal, scope } = connection
    const { place, projectId } = scope
    if (projectId !== undefined) yield* authority.inProject("project.read", projectId)
    const filter = `editor ${JSON.stringify([projectId, place])}`
    const { items, nextCursor } = yield* pageOf(
      { filter, principal: principal.userId, cursor, limit },
      sessionPosition,
      (after, rows) =>
        conversations.sessions(
          { reader: principal.userId, projectId, place },
          after === undefined ? undefined : decodePosition(after),
          rows
        )
    )
    const found = yield* conversations.read(
      principal.userId,
      items.map(({ id }) => id)
    )
    // Removed, or its agent was, since the page was read.
    const shown = found.flatMap((conversation) => shownOf(connection, conversation) ?? [])
    return { items: yield* describe(connection, shown), nextCursor } satisfies HostPage<HostSession>
  })

  const listRuns = Effect.fnUntraced(function* (
    connection: HostConnection,
    { chatId, cursor, limit, sessionId }: ChatPage
  ) {
    const { userId } = connection.principal
    const { session } = yield* find(connection, sessionId)
    const filter = `editor runs ${JSON.stringify([sessionId, chatId])}`
    const { items, nextCursor } = yield* pageOf(
      { filter, principal: userId, cursor, limit },
      idPosition,
      (before, rows) => conversations.runs(sessionId, chatId, before, rows)
    )
    const ids = items.map(({ id }) => id)
    const { projectId } = session
    const found = yield* runs.list(userId, { projectId, ids, replaced: true }, undefined, ids.length)
    const keys = yield* idempotency.keysOf(scopeOfMessages(userId, sessionId))
    const messages = new Map(items.map(({ id, messageId }) => [id, messageId]))
    return {
      items: found.map((run) => hostRunOf(run, keys.get(messages.get(run.id) ?? ""))),
      nextCursor
    } satisfies HostPage<HostRun>
  })

  return {
    sessions: (connection: HostConnection, page: { readonly limit: number; readonly cursor?: string }) =>
      listSessions(connection, page).pipe(reading(connection, "sessions.list")),
    session: (connection: HostConnection, id: SessionId) =>
      Effect.gen(function* () {
        const [session] = yield* describe(connection, [yield* find(connection, id)], true)
        return session ?? (yield* new PermissionDenied())
      }).pipe(reading(connection, "sessions.get")),
    runs: (connection: HostConnection, page: ChatPage) =>
      listRuns(connection, page).pipe(reading(connection, "runs.list")),
    /** Messages of a chat that have no run yet, in order. */
    waiting: (connection: HostConnection, chat: ChatPlace) =>
      listWaiting(connection, chat).pipe(reading(connection, "sessions.messages")),
    /** The newest run of a chat with a change set; `undefined` if there is none. */
    changedRun: (connection: HostConnection, { chatId, sessionId }: Omit<ChatPage, "cursor">) =>
      Effect.gen(function* () {
        const { session } = yield* find(connection, sessionId)
        const recent = yield* conversations.runs(sessionId, chatId, undefined, MAX_SETS)
        const ids = recent.map(({ id }) => id)
        const filter = { projectId: session.projectId, ids, replaced: true }
        const found = yield* runs.list(connection.principal.userId, filter, undefined, ids.length)
        return found.find(({ changes }) => changes !== undefined)?.changes?.runId
      }).pipe(reading(connection, "changeSets.ofSession"))
  }
})
export type HostSessions = Effect.Success<ReturnType<typeof makeHostSessions>>
