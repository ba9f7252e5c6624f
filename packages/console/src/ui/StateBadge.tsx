/** State of a run, task, device or approval. The colour repeats the text. */
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
  pending: "wait",
  queued: "wait"
}

export const StateBadge = ({ state }: { readonly state: State }) => {
  const messages = useMessages(uiMessages)
  return <span className={`badge ${tones[state] ?? "plain"}`}>{messages.states[state]}</span>
}
