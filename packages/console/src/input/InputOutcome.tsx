/** What became of a question or a plan: who answered it, where and when, or why it has no answer. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { InputKind } from "@corral/domain/input/InputRequest"
import type { InputResolution } from "@corral/domain/run/Resolution"
import { approvalMessages } from "../approval/messages.ts"
import { UserName } from "../approval/ApprovalOutcome.tsx"
import { useMessages } from "../text/Language.tsx"
import { Time } from "../ui/Time.tsx"
import { uiMessages } from "../ui/messages.ts"
import { inputMessages } from "./messages.ts"
import "./input.css"

interface Props {
  readonly kind: InputKind
  readonly resolution: InputResolution
  readonly projectId: HubRun["projectId"] | undefined
}

const useWord = ({ kind, resolution: { approved, state } }: Props): string => {
  const messages = useMessages(inputMessages)
  if (state === "pending") return ""
  if (kind !== "plan") return messages.states[state]
  if (state !== "answered") return messages.planDeclined
  return approved === true ? messages.planApproved : messages.planSentBack
}

export const InputOutcome = (props: Props) => {
  const { projectId, resolution } = props
  const messages = useMessages(inputMessages)
  const { origins } = useMessages(approvalMessages)
  const { modes } = useMessages(uiMessages)
  const word = useWord(props)
  const { answeredBy, approved, mode, origin, resolvedAt, state } = resolution
  const after = state === "pending" || state === "answered" || state === "declined" ? undefined : state
  const tone = state === "answered" && approved !== false ? "input-answered" : "input-open"
  const isByPerson = answeredBy !== undefined && after === undefined
  return (
    <span className={`input-outcome ${tone}`}>
      <strong>{word}</strong>
      {/* Only a person answers: other states have no name. */}
      {isByPerson && (
        <>
          {" "}
          {messages.by} <UserName by={answeredBy} projectId={projectId} />
          {origin !== undefined && origin !== "policy" && <> {origins[origin]}</>}
        </>
      )}
      {after !== undefined && <> · {messages.after[after]}</>}
      {approved === true && mode !== undefined && <> · {messages.continuesIn(modes[mode])}</>}
      {resolvedAt !== undefined && (
        <>
          {" · "}
          <Time at={resolvedAt} />
        </>
      )}
    </span>
  )
}
