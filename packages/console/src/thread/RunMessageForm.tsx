/** Form for a further message to the agent. A retry after a failure sends the same message. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMutation } from "@tanstack/react-query"
import { type FormEvent, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { runMessages } from "../run/messages.ts"
import "./thread.css"

export const RunMessageForm = ({ id }: { readonly id: HubRun["id"] }) => {
  const messages = useMessages(runMessages)
  const [text, setText] = useState("")
  // The same text sent later is another message.
  const [nth, setNth] = useState(0)
  const headersOf = useIdempotencyKey()
  const sendMessage = useMutation({
    mutationFn: (payload: { readonly text: string; readonly nth: number }) =>
      hubApi.runs.input({ params: { id }, headers: headersOf(payload), payload: { text: payload.text } }),
    onSuccess: () => {
      setNth((now) => now + 1)
      setText("")
    }
  })
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    if (text.trim() !== "" && !sendMessage.isPending) sendMessage.mutate({ text, nth })
  }
  return (
    <form className="say" onSubmit={submit}>
      <label>
        <span className="hidden">{messages.say}</span>
        <textarea
          rows={2}
          placeholder={`${messages.say} · ${messages.sayHint}`}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={({ ctrlKey, key, metaKey }) => {
            if (key === "Enter" && (ctrlKey || metaKey)) submit()
          }}
        />
      </label>
      <button type="submit" className="button primary" disabled={text.trim() === "" || sendMessage.isPending}>
        {messages.send}
      </button>
      <RefusalNote error={sendMessage.error} />
    </form>
  )
}
