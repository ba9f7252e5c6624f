/** Changes of a message that no agent has yet. A withdrawn text comes back into the composer. */
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi, messageLimit } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"
import { copiesOf } from "./DraftFiles.ts"
import { useSessionDraft } from "./useSessionDraft.ts"

/** Focus of the session's composer, after an action whose result is there or whose own button is gone. */
const focusComposer = (): void =>
  document.querySelector<HTMLTextAreaElement>(".composer textarea")?.focus({ preventScroll: true })

export const useQueuedMessage = (session: Session, message: Message) => {
  const client = useQueryClient()
  const draft = useSessionDraft(session.id)
  const headersOf = useIdempotencyKey()
  const params = { id: session.id, messageId: message.id }
  const onSettled = () => client.invalidateQueries({ queryKey: ["sessions"] })
  const { attachments = [], text } = message

  const withdraw = useMutation({
    mutationFn: async () => {
      await hubApi.sessions.withdrawMessage({ params, ...messageLimit })
      if (draft.offer(text) && attachments.length > 0) draft.files.add(await copiesOf(attachments))
    },
    // The text is there, and the button is gone.
    onSuccess: focusComposer,
    onSettled
  })
  /** For messages without files: those belong to the withdrawn message. */
  const sendNow = useMutation({
    mutationFn: async () => {
      // First, so that the agent receives it once.
      await hubApi.sessions.withdrawMessage({ params, ...messageLimit })
      const payload = {
        text,
        when: "now" as const,
        ...(message.to === undefined ? {} : { to: message.to })
      }
      try {
        await hubApi.sessions.addMessage({
          params: { id: session.id },
          headers: headersOf({ payload, of: message.id }),
          payload,
          ...messageLimit
        })
      } catch (error) {
        draft.prepend(text)
        throw error
      }
    },
    onSettled
  })
  const retry = useMutation({
    mutationFn: () => hubApi.sessions.retryMessage({ params, ...messageLimit }),
    onSettled
  })
  return {
    withdraw,
    sendNow,
    retry,
    isBusy: withdraw.isPending || sendNow.isPending || retry.isPending,
    error: withdraw.error ?? sendNow.error ?? retry.error
  }
}
