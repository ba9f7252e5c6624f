/** Sending of a draft: the primary button of a composer with its hint, and the mutation that sends a message to a session. */
import type { Session } from "@corral/domain/session/Session"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { hubApi, messageLimit, useIdempotencyKey } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { type Draft, type DraftReadiness, useDraftReadiness } from "./Draft.ts"
import { composerMessages } from "./messages.ts"
import "./composer.css"

type MessagePayload = Parameters<typeof hubApi.sessions.addMessage>[0]["payload"]

/** Fields of a message besides its text and its files. */
type MessageFields = Omit<MessagePayload, "attachments" | "text">

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

/** Mutation that sends a message to a session. A retry of the same message after a failure sends it once. */
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

interface SendButtonProps {
  readonly draft: Draft
  readonly isBusy: boolean
  readonly label: string
}

/** Primary button of a composer. Alone it reads whether the draft can be sent, so that a key renders no chips. */
export const SendButton = ({ draft, isBusy, label }: SendButtonProps) => {
  const readiness = useDraftReadiness(draft)
  return (
    <button
      type="submit"
      className="button primary composer-button"
      disabled={readiness !== "ready" || isBusy}
    >
      <Icon name="send" />
      <span className="composer-button-text">{label}</span>
    </button>
  )
}

interface HintProps {
  readonly draft: Draft
  /** What the keys do. Screen readers read it with the line, not as news. */
  readonly keys: string
  /** What happens to the message. */
  readonly children: string
}

/** Line of help: why the draft can't be sent, what happens to it, or what the keys do. */
export const ComposerHint = ({ children, draft, keys }: HintProps) => {
  const messages = useMessages(composerMessages)
  const reasons: { readonly [R in DraftReadiness]?: string } = {
    filesOnly: messages.filesOnly,
    uploading: messages.uploading,
    blocked: messages.blocked
  }
  const text = reasons[useDraftReadiness(draft)] ?? children
  return (
    <p className="composer-hint">
      <span role="status">{text}</span>
      {text === "" && keys}
    </p>
  )
}
