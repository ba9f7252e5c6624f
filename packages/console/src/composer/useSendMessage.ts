/** Mutation that sends a message to a session. A retry of the same message after a failure sends it once. */
import type { Session } from "@corral/domain/session/Session"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { hubApi, messageLimit, useIdempotencyKey } from "../api/Hub.ts"
import type { Draft } from "./Draft.ts"

type MessagePayload = Parameters<typeof hubApi.sessions.addMessage>[0]["payload"]

/** Fields of a message besides its text and its files. */
export type MessageFields = Omit<MessagePayload, "attachments" | "text">

/** The text and the files of a draft. What changes later is not part of them. */
export const draftContent = (draft: Draft) => {
  const files = draft.files.stored()
  return {
    payload: {
      text: draft.text(),
      ...(files.length === 0 ? {} : { attachments: files.map(({ attachment }) => attachment.id) })
    },
    fileKeys: draft.files.list().map(({ key }) => key)
  }
}

export const useSendMessage = (id: Session["id"], draft: Draft) => {
  const client = useQueryClient()
  const headersOf = useIdempotencyKey()
  // The same text sent later is another message.
  const [nth, setNth] = useState(0)
  return useMutation({
    mutationFn: async (fields: MessageFields) => {
      const { fileKeys, payload: content } = draftContent(draft)
      const payload = { ...content, ...fields }
      const headers = headersOf({ nth, payload })
      await hubApi.sessions.addMessage({ params: { id }, headers, payload, ...messageLimit })
      draft.removeSent(content.text, fileKeys)
    },
    onSuccess: () => {
      setNth((current) => current + 1)
      void client.invalidateQueries({ queryKey: ["sessions"] })
    }
  })
}
