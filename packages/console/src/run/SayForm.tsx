/** A further message to the agent. Sent again after a failure, it is the same message. */
import type { HubRun } from "@corral/domain/HubRun"
import { useMutation } from "@tanstack/react-query"
import { type FormEvent, useRef, useState } from "react"
import { hub } from "../api/Hub.ts"
import { useWords } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { runWords } from "./words.ts"

export const SayForm = ({ id }: { readonly id: HubRun["id"] }) => {
  const words = useWords(runWords)
  const [text, setText] = useState("")
  const attempt = useRef({ text: "", key: "" })
  const say = useMutation({
    mutationFn: (said: string) => {
      if (attempt.current.text !== said) attempt.current = { text: said, key: crypto.randomUUID() }
      return hub.runs.input({
        params: { id },
        // A header is text until the Hub has looked at it.
        headers: { "idempotency-key": attempt.current.key as never },
        payload: { text: said }
      })
    },
    onSuccess: () => {
      attempt.current = { text: "", key: "" }
      setText("")
    }
  })
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    if (text.trim() !== "" && !say.isPending) say.mutate(text)
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
