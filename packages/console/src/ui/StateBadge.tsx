/** The state of a run, a task, a device or an approval: a word, and a colour that says no more than the word. */
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
