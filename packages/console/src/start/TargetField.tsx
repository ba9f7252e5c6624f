/** Device of a new run, with the option to queue the run if it is offline. */
import type { Target } from "@corral/domain/device/Device"
import { useMessages } from "../text/Language.tsx"
import { Field } from "../ui/Field.tsx"
import { Time } from "../ui/Time.tsx"
import { uiMessages } from "../ui/messages.ts"
import { startMessages } from "./messages.ts"

interface Props {
  readonly targets: ReadonlyArray<Target>
  readonly target: Target
  readonly onChoose: (id: string) => void
}

export const TargetField = ({ onChoose, target, targets }: Props) => {
  const messages = useMessages(startMessages)
  const { states } = useMessages(uiMessages)
  return (
    <>
      <Field label={messages.device}>
        <select value={target.id} onChange={({ currentTarget: { value } }) => onChoose(value)}>
          {targets.map(({ id, name, state }) => (
            <option key={id} value={id}>
              {name} · {states[state]}
            </option>
          ))}
        </select>
      </Field>
      {target.state !== "online" && (
        <div className="notice" role="status">
          <p>
            <strong>
              <bdi>{target.name}</bdi> {messages.offline}
            </strong>{" "}
            {target.lastSeenAt !== undefined && <Time at={target.lastSeenAt} />}
          </p>
          <label className="choice">
            <input type="checkbox" name="queue" required />
            {messages.queue}
          </label>
        </div>
      )}
    </>
  )
}
