/** Form for the edited tool input: text fields as text, other values as JSON. */
import { type FormEvent, useState } from "react"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

type Input = Readonly<Record<string, unknown>>
/** Texts of the fields that the user has changed. */
export type EditedTexts = Readonly<Record<string, string>>

interface Props {
  readonly input: Input
  readonly edited: EditedTexts
  readonly busy: boolean
  readonly onEdit: (edited: EditedTexts) => void
  readonly onSend: (updated: Record<string, unknown>) => void
  readonly onBack: () => void
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2)

export const EditForm = ({ busy, edited, input, onBack, onEdit, onSend }: Props) => {
  const messages = useMessages(approvalMessages)
  const [broken, setBroken] = useState<string>()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const updated: Record<string, unknown> = { ...input }
    for (const [name, text] of Object.entries(edited)) {
      if (typeof input[name] === "string") updated[name] = text
      else
        try {
          updated[name] = JSON.parse(text)
        } catch {
          return setBroken(name)
        }
    }
    setBroken(undefined)
    return onSend(updated)
  }
  return (
    <form className="decision-form" onSubmit={submit} aria-label={messages.editTitle}>
      {Object.entries(input).map(([name, value], at) => {
        const text = edited[name] ?? textOf(value)
        return (
          <label key={name}>
            {typeof value === "string" ? visibleText(name) : messages.editJson(visibleText(name))}
            <textarea
              // The user has just opened this form.
              autoFocus={at === 0}
              spellCheck={false}
              rows={Math.min(16, text.split("\n").length + 1)}
              value={text}
              onChange={({ target }) => onEdit({ ...edited, [name]: target.value })}
            />
            {visibleText(text) !== text.replaceAll(/\r\n?/g, "\n") && (
              <span className="segment-why">⚠ {messages.editInvisible}</span>
            )}
          </label>
        )
      })}
      {broken !== undefined && <p role="alert">{messages.editBroken(broken)}</p>}
      <div className="decision-buttons">
        <button type="submit" className="button primary" disabled={busy}>
          {messages.editSend}
        </button>
        <button type="button" className="button" onClick={onBack}>
          {messages.goBack}
        </button>
      </div>
    </form>
  )
}
