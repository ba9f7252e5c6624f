/**
 * Form that changes a queued message. If another user has changed it meanwhile, both texts are shown and the user chooses.
 */
import { CorralError } from "@corral/client/http/CorralError"
import type { Message } from "@corral/domain/session/Message"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useEffect, useRef, useState } from "react"
import { hubApi, messageLimit } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { useComposition } from "../ui/Composition.ts"
import { focusAtOnce } from "../ui/Dialogs.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { type Draft, MAX_TEXT_LENGTH, useSessionDraft } from "./Draft.ts"
import { composerMessages } from "./messages.ts"
import "./composer.css"

interface Props {
  readonly message: Message
  readonly onClose: () => void
}

/** Saves a text over the version that was read. Returns the newer version where there is one. */
const useSaveText = ({ id: messageId, sessionId }: Message, onSaved: () => void) => {
  const client = useQueryClient()
  const params = { id: sessionId, messageId }
  return useMutation({
    mutationFn: async (payload: { readonly text: string; readonly version: number }) => {
      const { version } = payload
      try {
        await hubApi.sessions.updateMessage({ params, payload, ...messageLimit })
        return undefined
      } catch (error) {
        if (!(error instanceof CorralError) || error.code !== "conflict") throw error
        const newer = await hubApi.sessions.message({ params })
        if (newer.version === version || newer.delivery?.state !== "pending") throw error
        return newer
      }
    },
    onSuccess: (newer) => newer === undefined && onSaved(),
    onSettled: () => client.invalidateQueries({ queryKey: ["sessions"] })
  })
}

/** A message that is delivered while it is edited leaves the queue: the text comes back into the composer. */
const useRescue = (draft: Draft, original: string, text: string) => {
  const edited = useRef({ text, isClosed: false })
  edited.current.text = text
  useEffect(
    () => () => {
      const { isClosed, text: left } = edited.current
      if (!isClosed && left !== original) draft.prepend(left)
    },
    [draft, original]
  )
  return () => {
    edited.current.isClosed = true
  }
}

export const EditMessage = ({ message, onClose }: Props) => {
  const messages = useMessages(composerMessages)
  const [{ text: original, version }] = useState(message)
  const [text, setText] = useState(original)
  const [composition, isComposed] = useComposition()
  const markClosed = useRescue(useSessionDraft(message.sessionId), original, text)
  const close = () => {
    markClosed()
    onClose()
  }
  const save = useSaveText(message, close)
  const newer = save.data
  const submit = (over = version) => {
    if (text.trim() !== "" && !save.isPending) save.mutate({ text, version: over })
  }
  return (
    <form
      className="queued-edit"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <textarea
        ref={focusAtOnce}
        aria-label={messages.editLabel}
        maxLength={MAX_TEXT_LENGTH}
        value={text}
        onChange={({ target: { value } }) => setText(value)}
        onKeyDown={(event) => {
          if (isComposed(event)) return
          if (event.key === "Escape") {
            event.preventDefault()
            close()
          }
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit()
        }}
        {...composition}
      />
      {newer !== undefined && (
        <div className="notice" role="alert">
          <p>{messages.newerText}</p>
          <p className="said">{newer.text}</p>
          <div className="form-actions">
            <button type="button" className="button small" onClick={() => submit(newer.version)}>
              {messages.saveMine}
            </button>
            <button type="button" className="button small" onClick={close}>
              {messages.useTheirs}
            </button>
          </div>
        </div>
      )}
      <RefusalNote error={save.error} />
      {newer === undefined && (
        <div className="form-actions">
          <button
            type="submit"
            className="button small primary"
            disabled={text.trim() === "" || save.isPending}
          >
            {messages.save}
          </button>
          <button type="button" className="button small" onClick={close}>
            {messages.cancel}
          </button>
        </div>
      )}
    </form>
  )
}
