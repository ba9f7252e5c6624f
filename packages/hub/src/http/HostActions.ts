/**
 * What an editor's connection does at a Hub: messages, decisions, answers, and reads that the Edge answers. Each is the handler of a route, with the
 * checks of its body.
 *
 * Guarantees: a call that repeats a key is carried out once, as a request with that `Idempotency-Key`. Decisions and answers have the origin `editor`.
 */
import { STOPPED_IN_EDITOR } from "@corral/agent-host/fold/Lines"
import {
  type ChangesDecision,
  type ChatPlace,
  type HostChanges,
  type HostMessage,
  type SentMessage,
  requireValid
} from "@corral/agent-host/host/HostBackend"
import { type DecideApproval, ORIGIN_HEADER } from "@corral/domain/approval/Approval"
import type { FoundFiles } from "@corral/domain/device/Workspace"
import { AcceptChanges, RejectChanges, UndoChanges } from "@corral/domain/edge-api/ChangeSet"
import { Conflict, NotFound, PermissionDenied } from "@corral/domain/errors/Failures"
import { MAX_LIMIT } from "@corral/domain/http/Page"
import { DecideHubApproval } from "@corral/domain/hub-api/HubRun"
import {
  AgentInstanceId,
  type ChangedFileId,
  type InputRequestId,
  type RunId,
  type SessionId,
  type WorkspaceId
} from "@corral/domain/identity/Ids"
import { InputAnswer } from "@corral/domain/input/InputRequest"
import { AddAgent } from "@corral/domain/run/AgentProfile"
import { CreateMessage } from "@corral/domain/session/Message"
import { Effect, Schema, Struct } from "effect"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { SessionProject } from "../session/SessionTable.ts"
import { Sessions } from "../session/Sessions.ts"
import { approvalDecision } from "./Approvals.ts"
import { changeDecisionHandlers, changeReadHandlers } from "./Changes.ts"
import { fileHandlers } from "./Files.ts"
import type { HostCalls, HostConnection } from "./HostCalls.ts"
import type { HostPlace, HostPlaces } from "./HostPlaces.ts"
import type { HostSessions } from "./HostSessions.ts"
import { inputAnswer } from "./Inputs.ts"
import { runEndHandlers } from "./Runs.ts"
import { messageChangeHandlers, messageHandlers, sessionAgentHandlers, sessionHandlers } from "./Sessions.ts"

const headersOf = (key: string) => ({ "idempotency-key": key })
const editorHeaders = (key: string) => ({ ...headersOf(key), [ORIGIN_HEADER]: "editor" as const })

const isAgentInstance = Schema.is(AgentInstanceId)

/** Messages. The first one of a session creates it, with its agent: a repetition finds what is there. */
const makeSending = Effect.fnUntraced(function* ({ reading, writing }: HostCalls, places: HostPlaces) {
  const { addAgent } = yield* sessionAgentHandlers
  const { addMessage } = yield* messageHandlers
  const audit = yield* Audit
  const authority = yield* HubAuthority
  const projectOf = yield* SessionProject
  const sessions = yield* Sessions

  const post = Effect.fnUntraced(function* (
    connection: HostConnection,
    { key, mode, model, sessionId, text, when }: HostMessage,
    to: AgentInstanceId
  ) {
    const choices = when === "now" ? {} : { mode, ...(model === undefined ? {} : { model }) }
    const payload = {
      text,
      to,
      when: when === "now" ? ("now" as const) : ("next" as const),
      onOffline: "queue" as const,
      ...choices
    }
    yield* requireValid(CreateMessage, payload)
    const { delivery } = yield* addMessage({
      headers: headersOf(key),
      params: { id: sessionId },
      payload
    }).pipe(writing(connection, "sessions.addMessage"))
    const sent: SentMessage = {
      sessionId,
      chatId: to,
      ...(delivery?.runId === undefined ? {} : { runId: delivery.runId })
    }
    return sent
  })

  const create = Effect.fnUntraced(function* ({ projectId }: HostPlace, id: SessionId) {
    const proof = yield* authority.inProject("session.write", projectId)
    const auditedAction = { action: "session.write", resource: id, projectId } as const
    yield* audit.perform(auditedAction, sessions.begin(proof, id))
  })

  const begin = Effect.fnUntraced(function* (connection: HostConnection, message: HostMessage) {
    const { agentId, key, mode, model, sessionId: id, workspace } = message
    const place = yield* places.placeFor(connection, workspace, agentId)
    const payload = {
      agentId,
      targetId: place.targetId,
      workspace,
      mode,
      ...(model === undefined ? {} : { model })
    }
    yield* requireValid(AddAgent, payload)
    yield* create(place, id).pipe(writing(connection, "sessions.create"))
    const agent = yield* addAgent({ headers: headersOf(`${key} agent`), params: { id }, payload }).pipe(
      writing(connection, "sessions.addAgent")
    )
    return yield* post(connection, message, agent.id)
  })

  return Effect.fnUntraced(function* (connection: HostConnection, message: HostMessage) {
    const { chatId, sessionId } = message
    if (chatId !== undefined)
      return isAgentInstance(chatId) ? yield* post(connection, message, chatId) : yield* new NotFound()
    const existing = yield* projectOf.find(sessionId).pipe(reading(connection, "sessions.get"))
    const { projectId } = connection.scope
    // As a session of another project that the connection does not show.
    if (existing !== undefined && projectId !== undefined && existing !== projectId)
      return yield* new PermissionDenied()
    return yield* begin(connection, message)
  })
})

const makeDecisions = Effect.fnUntraced(function* ({ writing }: HostCalls) {
  const answerInput = yield* inputAnswer
  const decide = yield* approvalDecision
  const { accept, reject, undo } = yield* changeDecisionHandlers

  return {
    decide: Effect.fnUntraced(function* (
      connection: HostConnection,
      { approvalId: id, ...decision }: DecideApproval,
      key: string
    ) {
      // The route finds the run by the approval.
      const payload = Struct.omit(decision, ["runId"])
      yield* requireValid(DecideHubApproval, payload)
      yield* decide({ headers: editorHeaders(key), params: { id }, payload }).pipe(
        writing(connection, "approvals.decide")
      )
    }),

    answer: Effect.fnUntraced(function* (
      connection: HostConnection,
      id: InputRequestId,
      payload: InputAnswer,
      key: string
    ) {
      yield* requireValid(InputAnswer, payload)
      yield* answerInput({ headers: editorHeaders(key), params: { id }, payload }).pipe(
        writing(connection, "inputs.answer")
      )
    }),

    decideChanges: Effect.fnUntraced(function* (
      connection: HostConnection,
      id: RunId,
      decision: ChangesDecision,
      key: string
    ) {
      const request = { headers: editorHeaders(key), params: { id } }
      switch (decision.kind) {
        case "accept":
          yield* requireValid(AcceptChanges, decision.payload)
          return yield* accept({ ...request, payload: decision.payload }).pipe(
            writing(connection, "changeSets.accept")
          )
        case "reject":
          yield* requireValid(RejectChanges, decision.payload)
          return yield* reject({ ...request, payload: decision.payload }).pipe(
            writing(connection, "changeSets.reject")
          )
        case "undo":
          yield* requireValid(UndoChanges, decision.payload)
          return yield* undo({ ...request, payload: decision.payload }).pipe(
            writing(connection, "changeSets.undo")
          )
      }
    })
  }
})

/** Reads that the Edge of a run or a workspace answers. */
const makeEdgeReads = Effect.fnUntraced(function* (
  { reading }: HostCalls,
  places: HostPlaces,
  sessions: HostSessions
) {
  const changeReads = yield* changeReadHandlers
  const { file, folder } = yield* fileHandlers

  return {
    changes: Effect.fnUntraced(function* (
      connection: HostConnection,
      chat: { readonly sessionId: SessionId; readonly chatId: string; readonly limit: number }
    ) {
      const id = (yield* sessions.changedRun(connection, chat)) ?? (yield* new NotFound())
      const page = (limit: number, cursor?: string) =>
        changeReads
          .get({ params: { id }, query: { limit, ...(cursor === undefined ? {} : { cursor }) } })
          .pipe(reading(connection, "changeSets.get"))
      const first = yield* page(Math.min(chat.limit, MAX_LIMIT))
      let files = first.items
      let { nextCursor } = first
      while (nextCursor !== null && files.length < chat.limit) {
        const next = yield* page(Math.min(chat.limit - files.length, MAX_LIMIT), nextCursor)
        files = [...files, ...next.items]
        nextCursor = next.nextCursor
      }
      return { set: first.set, files, more: nextCursor !== null } satisfies HostChanges
    }),

    changedFile: (connection: HostConnection, id: RunId, fileId: ChangedFileId) =>
      changeReads
        .file({ params: { id, fileId }, query: { limit: MAX_LIMIT } })
        .pipe(reading(connection, "changeSets.file")),

    readFile: Effect.fnUntraced(function* (connection: HostConnection, workspace: WorkspaceId, path: string) {
      const { projectId, targetId: id } = yield* places.placeOfWorkspace(connection, workspace)
      return yield* file({ params: { id, workspace }, query: { path, projectId } }).pipe(
        reading(connection, "files.file")
      )
    }),

    listFolder: Effect.fnUntraced(function* (
      connection: HostConnection,
      workspace: WorkspaceId,
      path: string
    ) {
      const { projectId, targetId: id } = yield* places.placeOfWorkspace(connection, workspace)
      const { items, nextCursor } = yield* folder({
        params: { id, workspace },
        query: { path, projectId, limit: MAX_LIMIT }
      }).pipe(reading(connection, "files.folder"))
      return { items, ...(nextCursor === null ? {} : { truncated: true as const }) } satisfies FoundFiles
    })
  }
})

export const makeHostActions = Effect.fnUntraced(function* (
  calls: HostCalls,
  places: HostPlaces,
  sessions: HostSessions
) {
  const { cancel } = yield* runEndHandlers
  const { update } = yield* sessionHandlers
  const { withdrawMessage } = yield* messageChangeHandlers
  const { writing } = calls

  return {
    send: yield* makeSending(calls, places),
    ...(yield* makeDecisions(calls)),
    ...(yield* makeEdgeReads(calls, places, sessions)),
    withdraw: Effect.fnUntraced(function* (connection: HostConnection, chat: ChatPlace, key: string) {
      const found = (yield* sessions.waiting(connection, chat)).find((message) => message.key === key)
      if (found === undefined) return yield* new Conflict({ message: "The message does not wait." })
      const params = { id: chat.sessionId, messageId: found.id }
      yield* withdrawMessage({ params }).pipe(writing(connection, "sessions.withdrawMessage"))
    }),
    cancel: (connection: HostConnection, id: RunId) =>
      cancel({ params: { id }, reason: STOPPED_IN_EDITOR }).pipe(
        writing(connection, "runs.cancel"),
        Effect.asVoid
      ),
    archive: (connection: HostConnection, id: SessionId) =>
      update({ params: { id }, payload: { state: "archived" } }).pipe(
        writing(connection, "sessions.update"),
        Effect.asVoid
      )
  }
})
