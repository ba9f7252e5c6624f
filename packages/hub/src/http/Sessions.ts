/**
 * `/client/sessions` and `/client/agents`: sessions, their messages and agents, what agents there are, and the reading marks, exports
 * and forks of conversations.
 */
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { AgentInstance } from "@corral/domain/run/AgentProfile"
import { type ExportFormat, Session } from "@corral/domain/session/Session"
import { Message } from "@corral/domain/session/Message"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority, requireChatMode } from "../authority/HubAuthority.ts"
import type { Sender } from "../conversation/MessageSending.ts"
import { ReadPositions } from "../conversation/ReadPositions.ts"
import { SentMessages } from "../conversation/SentMessages.ts"
import { SessionExport } from "../conversation/SessionExport.ts"
import { SessionFork } from "../conversation/SessionFork.ts"
import { Inventory } from "../device/Inventory.ts"
import { MessageStore } from "../session/MessageStore.ts"
import { SessionAgentStore } from "../session/SessionAgentStore.ts"
import { sessionPosition, Sessions } from "../session/Sessions.ts"
import { decodePosition, decodeSeq } from "../store/ListPage.ts"
import { type HubRequest, keyedWrite, withErrorObjects } from "./Handlers.ts"

const files: Readonly<Record<ExportFormat, { readonly contentType: string; readonly extension: string }>> = {
  markdown: { contentType: "text/markdown; charset=utf-8", extension: "md" },
  json: { contentType: "application/json", extension: "json" }
}

export const conversationEndpoints = HttpApiBuilder.group(
  HubApi,
  "conversations",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const authority = yield* HubAuthority
    const exports = yield* SessionExport
    const forks = yield* SessionFork
    const writeOnce = yield* keyedWrite
    const positions = yield* ReadPositions
    const sessions = yield* Sessions

    return handlers.handleAll({
      read: Effect.fnUntraced(function* ({ params: { id }, payload: { messageId } }) {
        return yield* positions.markRead(yield* authority.inSession("project.read", id), id, messageId)
      }, withErrorObjects),

      export: Effect.fnUntraced(function* ({ params: { id }, query: { format } }) {
        const proof = yield* authority.inSession("project.read", id)
        const session = yield* sessions.get(proof, id)
        const { contentType, extension } = files[format]
        return HttpServerResponse.stream(Stream.encodeText(exports.document(proof, session, format)), {
          contentType,
          headers: { "content-disposition": `attachment; filename="${id}.${extension}"` }
        })
      }, withErrorObjects),

      fork: Effect.fnUntraced(function* ({ headers, params: { id }, payload }) {
        const proof = yield* authority.inSession("session.write", id)
        const request = {
          scope: `${proof.principal} POST /client/sessions/${id}/fork`,
          headers,
          payload,
          response: Session
        }
        const auditedAction = { action: "session.write", resource: id, projectId: proof.projectId } as const
        const write = Effect.flatMap(forks.fork(proof, id, payload.messageId), (fork) =>
          sessions.get(proof, fork)
        )
        return yield* writeOnce(
          request,
          audit.perform(auditedAction, write, (fork: Session) => ({ resource: fork.id }))
        )
      }, withErrorObjects)
    })
  })
)

export const sessionHandlers = Effect.gen(function* () {
  const audit = yield* Audit
  const authority = yield* HubAuthority
  const writeOnce = yield* keyedWrite
  const service = yield* Sessions

  return {
    list: Effect.fnUntraced(function* ({
      query: { cursor, limit, projectId, state }
    }: HubRequest<"sessions", "list">) {
      const { userId } = yield* CurrentPrincipal
      const scope =
        projectId === undefined ? { reader: userId } : yield* authority.inProject("project.read", projectId)
      const filter = `sessions ${JSON.stringify([projectId, state])}`
      return yield* pageOf({ filter, principal: userId, cursor, limit }, sessionPosition, (after, limit) =>
        service.list(scope, state, after === undefined ? undefined : decodePosition(after), limit)
      )
    }, withErrorObjects),

    create: Effect.fnUntraced(function* ({ headers, payload }: HubRequest<"sessions", "create">) {
      const { projectId } = payload
      const proof = yield* authority.inProject("session.write", projectId)
      const request = {
        scope: `${proof.principal} POST /client/sessions`,
        headers,
        payload,
        response: Session
      }
      const auditedAction = { action: "session.write", resource: projectId, projectId } as const
      return yield* writeOnce(
        request,
        audit.perform(auditedAction, service.create(proof, payload), ({ id }: Session) => ({ resource: id }))
      )
    }, withErrorObjects),

    get: Effect.fnUntraced(function* ({ params: { id } }: HubRequest<"sessions", "get">) {
      return yield* service.get(yield* authority.inSession("project.read", id), id)
    }, withErrorObjects),

    update: Effect.fnUntraced(function* ({ params: { id }, payload }: HubRequest<"sessions", "update">) {
      const proof = yield* authority.inSession("session.write", id)
      const auditedAction = { action: "session.write", resource: id, projectId: proof.projectId } as const
      return yield* audit.perform(auditedAction, service.update(proof, id, payload))
    }, withErrorObjects)
  }
})

export const sessionAgentHandlers = Effect.gen(function* () {
  const agents = yield* SessionAgentStore
  const audit = yield* Audit
  const authority = yield* HubAuthority
  const writeOnce = yield* keyedWrite
  const inventory = yield* Inventory

  return {
    agents: Effect.fnUntraced(function* ({
      params: { id },
      query: { cursor, limit }
    }: HubRequest<"sessions", "agents">) {
      const proof = yield* authority.inSession("project.read", id)
      const list = { filter: `agents ${id}`, principal: proof.principal, cursor, limit }
      return yield* pageOf(list, idPosition, (after, limit) => agents.list(proof, id, after, limit))
    }, withErrorObjects),

    addAgent: Effect.fnUntraced(function* ({
      headers,
      params: { id },
      payload
    }: HubRequest<"sessions", "addAgent">) {
      const proof = yield* authority.inSession("session.write", id)
      const target = yield* authority.toTarget(payload.targetId)
      const request = {
        scope: `${proof.principal} POST /client/sessions/${id}/agents`,
        headers,
        payload,
        response: AgentInstance
      }
      const auditedAction = { action: "session.write", resource: id, projectId: proof.projectId } as const
      // The agent's mode is the default of everyone's messages to it.
      const allowed = requireChatMode(yield* CurrentPrincipal, payload.mode ?? "ask")
      const write = audit.perform(
        auditedAction,
        Effect.andThen(allowed, agents.add(proof, id, target, payload))
      )
      return yield* writeOnce(request, write)
    }, withErrorObjects),

    updateAgent: Effect.fnUntraced(function* ({
      params: { agentInstanceId, id },
      payload
    }: HubRequest<"sessions", "updateAgent">) {
      const proof = yield* authority.inSession("session.write", id)
      const auditedAction = {
        action: "session.write",
        resource: agentInstanceId,
        projectId: proof.projectId
      } as const
      return yield* audit.perform(auditedAction, agents.update(proof, id, agentInstanceId, payload))
    }, withErrorObjects),

    removeAgent: Effect.fnUntraced(function* ({
      params: { id },
      query: { agentInstanceId }
    }: HubRequest<"sessions", "removeAgent">) {
      const proof = yield* authority.inSession("session.write", id)
      const auditedAction = {
        action: "session.write",
        resource: agentInstanceId,
        projectId: proof.projectId
      } as const
      yield* audit.perform(auditedAction, agents.remove(proof, id, agentInstanceId))
    }, withErrorObjects),

    inventory: Effect.fnUntraced(function* ({
      query: { cursor, limit }
    }: HubRequest<"sessions", "inventory">) {
      const { userId } = yield* CurrentPrincipal
      return yield* pageOf(
        { filter: "inventory", principal: userId, cursor, limit },
        idPosition,
        (after, limit) => inventory.agents(userId, after, limit)
      )
    }, withErrorObjects)
  }
})

export const sessionEndpoints = HttpApiBuilder.group(
  HubApi,
  "sessions",
  Effect.fnUntraced(function* (handlers) {
    return handlers.handleAll({
      ...(yield* sessionHandlers),
      ...(yield* messageHandlers),
      ...(yield* messageChangeHandlers),
      ...(yield* sessionAgentHandlers)
    })
  })
)

/** `/client/sessions/{id}/messages`: messages of a session, read and sent. */
export const messageHandlers = Effect.gen(function* () {
  const audit = yield* Audit
  const authority = yield* HubAuthority
  const writeOnce = yield* keyedWrite
  const sent = yield* SentMessages
  const messages = yield* MessageStore

  return {
    messages: Effect.fnUntraced(function* ({
      params: { id },
      query: { changedAfter, cursor, limit }
    }: HubRequest<"sessions", "messages">) {
      const proof = yield* authority.inSession("project.read", id)
      if (changedAfter !== undefined) {
        const filter = `changed messages ${id} ${changedAfter}`
        return yield* pageOf(
          { filter, principal: proof.principal, cursor, limit },
          versionPosition,
          (after, limit) =>
            messages.listChanges(
              proof,
              id,
              after === undefined ? changedAfter : decodeSeq(after, changedAfter),
              limit
            )
        )
      }
      const list = { filter: `messages ${id}`, principal: proof.principal, cursor, limit }
      return yield* pageOf(list, idPosition, (before, limit) => messages.list(proof, id, before, limit))
    }, withErrorObjects),

    message: Effect.fnUntraced(function* ({ params: { id, messageId } }: HubRequest<"sessions", "message">) {
      return yield* messages.get(yield* authority.inSession("project.read", id), id, messageId)
    }, withErrorObjects),

    addMessage: Effect.fnUntraced(function* ({
      headers,
      params: { id },
      payload
    }: HubRequest<"sessions", "addMessage">) {
      const proof = yield* authority.inSession("session.write", id)
      const request = {
        scope: `${proof.principal} POST /client/sessions/${id}/messages`,
        headers,
        payload,
        response: Message
      }
      const auditedAction = { action: "session.write", resource: id, projectId: proof.projectId } as const
      const sender = yield* senderOf(proof)
      const write = audit.perform(auditedAction, sent.send(sender, id, payload))
      return yield* writeOnce(request, write)
    }, withErrorObjects)
  }
})

/** `/client/sessions/{id}/messages/{messageId}`: messages of a session, changed, withdrawn and sent again, and held ones. */
export const messageChangeHandlers = Effect.gen(function* () {
  const audit = yield* Audit
  const authority = yield* HubAuthority
  const writeOnce = yield* keyedWrite
  const sent = yield* SentMessages

  return {
    updateMessage: Effect.fnUntraced(function* ({
      params: { id: sessionId, messageId: id },
      payload
    }: HubRequest<"sessions", "updateMessage">) {
      const proof = yield* authority.inSession("session.write", sessionId)
      const sender = yield* senderOf(proof)
      const auditedAction = { action: "session.write", resource: id, projectId: proof.projectId } as const
      return yield* audit.perform(auditedAction, sent.edit(sender, { sessionId, id }, payload))
    }, withErrorObjects),

    withdrawMessage: Effect.fnUntraced(function* ({
      params: { id: sessionId, messageId: id }
    }: HubRequest<"sessions", "withdrawMessage">) {
      const proof = yield* authority.inSession("session.write", sessionId)
      const sender = yield* senderOf(proof)
      const auditedAction = { action: "session.write", resource: id, projectId: proof.projectId } as const
      return yield* audit.perform(auditedAction, sent.withdraw(sender, { sessionId, id }))
    }, withErrorObjects),

    retryMessage: Effect.fnUntraced(function* ({
      headers,
      params: { id: sessionId, messageId: id }
    }: HubRequest<"sessions", "retryMessage">) {
      const proof = yield* authority.inSession("session.write", sessionId)
      const sender = yield* senderOf(proof)
      const request = {
        scope: `${proof.principal} POST /client/sessions/${sessionId}/messages/${id}/retry`,
        headers,
        payload: {},
        response: Message
      }
      const auditedAction = { action: "session.write", resource: id, projectId: proof.projectId } as const
      const write = audit.perform(auditedAction, sent.retry(sender, { sessionId, id }))
      return yield* writeOnce(request, write)
    }, withErrorObjects),

    continueAgent: Effect.fnUntraced(function* ({
      params: { agentInstanceId, id }
    }: HubRequest<"sessions", "continueAgent">) {
      const proof = yield* authority.inSession("session.write", id)
      const sender = yield* senderOf(proof)
      const auditedAction = {
        action: "session.write",
        resource: agentInstanceId,
        projectId: proof.projectId
      } as const
      return yield* audit.perform(auditedAction, sent.continueQueue(sender, id, agentInstanceId))
    }, withErrorObjects)
  }
})

/** The caller as the sender of a message. */
const senderOf = Effect.fnUntraced(function* (proof: Sender["proof"]) {
  const sender: Sender = { proof, principal: yield* CurrentPrincipal, requestId: yield* CurrentRequestId }
  return sender
})

const versionPosition = ({ version }: Message): string => String(version)
