/** Form fields of a project's checks: commands with names, such as its tests, that are executed on what candidates changed. */
import type { Check } from "@corral/domain/run/Check"
import { useRef, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { projectMessages } from "./messages.ts"
import "./project.css"

/** As many as a project can have. */
const MAX_CHECKS = 5

/** The checks that a form with these fields has. Rows without a command are none. */
export const checksIn = (form: FormData): ReadonlyArray<Check> => {
  const texts = (name: string) =>
    form.getAll(name).map((each) => (typeof each === "string" ? each.trim() : ""))
  const [names, commands] = [texts("checkName"), texts("checkCommand")]
  return commands.flatMap((command, at) => {
    const name = names[at] ?? ""
    return command === "" ? [] : [{ name: name === "" ? command.slice(0, 60) : name, command }]
  })
}

interface CheckRow extends Check {
  readonly key: number
}

export const CheckFields = ({ checks }: { readonly checks: ReadonlyArray<Check> }) => {
  const messages = useMessages(projectMessages)
  const [rows, setRows] = useState<ReadonlyArray<CheckRow>>(() =>
    checks.map((check, key) => ({ ...check, key }))
  )
  const nextKey = useRef(rows.length)
  return (
    <fieldset className="checks">
      <legend>{messages.checks}</legend>
      <p className="quiet">{messages.checksHint}</p>
      {rows.map(({ command, key, name }, at) => (
        <div key={key} className="check-row">
          <input
            name="checkName"
            aria-label={messages.checkName(at + 1)}
            placeholder={messages.checkNameHint}
            defaultValue={name}
            maxLength={60}
            autoComplete="off"
          />
          <input
            name="checkCommand"
            className="check-command-field"
            aria-label={messages.checkCommand(at + 1)}
            placeholder="npm test"
            defaultValue={command}
            maxLength={2_000}
            autoComplete="off"
            spellCheck={false}
          />
          <button
            type="button"
            className="icon-button"
            aria-label={messages.removeCheck(at + 1)}
            onClick={() => setRows(rows.filter((row) => row.key !== key))}
          >
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
      {rows.length < MAX_CHECKS && (
        <button
          type="button"
          className="button small"
          onClick={() => setRows([...rows, { name: "", command: "", key: nextKey.current++ }])}
        >
          <Icon name="plus" size={14} />
          {messages.addCheck}
        </button>
      )}
    </fieldset>
  )
}
