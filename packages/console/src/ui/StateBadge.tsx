/** State of a run, task, device or approval, as a shape and a word. The colour repeats them. */
import { useMessages } from "../text/Language.tsx"
import { uiMessages } from "./messages.ts"

type State = keyof (typeof uiMessages)["en"]["states"]

const tones: { readonly [S in State]?: "good" | "bad" | "busy" | "wait" } = {
  completed: "good",
  approved: "good",
  online: "good",
  active: "good",
  allowed: "good",
  failed: "bad",
  denied: "bad",
  revoked: "bad",
  expired: "bad",
  running: "busy",
  starting: "busy",
  dispatched: "busy",
  created: "busy",
  waiting_approval: "wait",
  waiting_input: "wait",
  pending: "wait",
  queued: "wait"
}

/** A dot is drawn for the others. */
const shapes: { readonly [S in State]?: string } = {
  completed: "✓",
  approved: "✓",
  allowed: "✓",
  failed: "✕",
  denied: "✕",
  revoked: "✕",
  expired: "✕",
  cancelled: "■",
  closed: "■",
  waiting_approval: "◆",
  waiting_input: "◆",
  pending: "◆",
  queued: "○",
  created: "○",
  archived: "○",
  offline: "⊘"
}

export const StateBadge = ({ state }: { readonly state: State }) => {
  const messages = useMessages(uiMessages)
  return (
    <span className={`badge ${tones[state] ?? "plain"}`} data-shape={shapes[state] ?? "●"}>
      {messages.states[state]}
    </span>
  )
}
