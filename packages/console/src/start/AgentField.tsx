/** Agent of a new run. Unavailable agents are listed with the reason and a hint, and can't be selected. */
import type { Agent } from "@corral/domain/run/Agent"
import { useMessages } from "../text/Language.tsx"
import { Field } from "../ui/Field.tsx"
import { startMessages } from "./messages.ts"

interface Props {
  readonly agents: ReadonlyArray<Agent>
  readonly agent: Agent | undefined
  readonly onChoose: (id: string) => void
}

const Missing = ({ agent: { hint, label, reason } }: { readonly agent: Agent }) => (
  <li>
    <bdi>{label}</bdi>: {reason} {hint}
  </li>
)

export const AgentField = ({ agent, agents, onChoose }: Props) => {
  const messages = useMessages(startMessages)
  const missing = agents.filter(({ available, reason }) => !available && reason !== undefined)
  return (
    <>
      <Field label={messages.agent} {...(agent?.signedIn === false ? { hint: messages.notSignedIn } : {})}>
        <select value={agent?.id ?? ""} onChange={({ currentTarget: { value } }) => onChoose(value)}>
          {agents.map(({ available, id, label, version }) => (
            <option key={id} value={id} disabled={!available}>
              {[label, version].filter((part) => part !== undefined).join(" ")}
              {available ? "" : ` (${messages.unavailable})`}
            </option>
          ))}
        </select>
      </Field>
      {missing.length > 0 && (
        <details className="quiet">
          <summary>{messages.missing(missing.length)}</summary>
          <ul>
            {missing.map((each) => (
              <Missing key={each.id} agent={each} />
            ))}
          </ul>
        </details>
      )}
    </>
  )
}
