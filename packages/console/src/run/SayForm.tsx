/** A further message to the agent. Sent again after a failure, it is the same message. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMutation } from "@tanstack/react-query"
import { type FormEvent, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { runMessages } from "./messages.ts"
import "./run.css"

export const SayForm = ({ id }: { readonly id: HubRun["id"] }) => {
  const words = useMessages(runMessages)
  const [text, setText] = useState("")
  // The same words said again later are another message.
  const [nth, setNth] = useState(0)
  const headersOf = useIdempotencyKey()
  const say = useMutation({
    mutationFn: (payload: { readonly text: string; readonly nth: number }) =>
      hubApi.runs.input({ params: { id }, headers: headersOf(payload), payload: { text: payload.text } }),
    onSuccess: () => {
      setNth((now) => now + 1)
      setText("")
    }
  })
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    if (text.trim() !== "" && !say.isPending) say.mutate({ text, nth })
  }
  return (
    <form className="say" onSubmit={submit}>
      <label>
        <span className="hidden">{words.say}</span>
        <textarea
          rows={2}
          placeholder={`${words.say} · ${words.sayHint}`}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={({ ctrlKey, key, metaKey }) => {
            if (key === "Enter" && (ctrlKey || metaKey)) submit()
          }}
        />
      </label>
      <button type="submit" className="button primary" disabled={text.trim() === "" || say.isPending}>
        {words.send}
      </button>
      <RefusalNote error={say.error} />
    </form>
  )
}
