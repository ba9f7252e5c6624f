/** `/client/sessions/{id}/messages`: messages of a session, sent, changed, withdrawn and sent again, and held ones. */
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { Message } from "@corral/domain/session/Message"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import type { Sender } from "../conversation/MessageSending.ts"
import { SentMessages } from "../conversation/SentMessages.ts"
import { MessageStore } from "../session/MessageStore.ts"
import { decodeSeq } from "../store/Position.ts"
import { withErrorObjects } from "./ErrorObjects.ts"
import type { HubRequest } from "./HubRequest.ts"
import { keyedWrite } from "./KeyedWrite.ts"

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
