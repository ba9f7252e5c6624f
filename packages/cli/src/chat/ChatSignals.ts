/** What a chat reacts to: keys of the user, and updates of the conversation. */
import { type Clock, Queue } from "effect"
import type { EditorListener } from "../terminal/LineEditor.ts"
import { completionsOf } from "./ChatCommands.ts"
import type { ChatHistory } from "./ChatHistory.ts"
import type { ThreadUpdate } from "./ChatThread.ts"

export type ChatSignal =
  | { readonly kind: "update"; readonly update: ThreadUpdate }
  | { readonly kind: "submit"; readonly text: string; readonly typedAt: number }
  | { readonly kind: "interrupt" | "escape" | "end" | "redraw" | "draw" }

/** Keys as signals. */
export const keyboard = (
  signals: Queue.Enqueue<ChatSignal>,
  history: ChatHistory,
  clock: Clock.Clock
): EditorListener => {
  const offer = (signal: ChatSignal) => Queue.offerUnsafe(signals, signal)
  return {
    onChange: () => offer({ kind: "draw" }),
    onSubmit: (text, typedAt) => offer({ kind: "submit", text, typedAt }),
    onInterrupt: () => offer({ kind: "interrupt" }),
    onEscape: () => offer({ kind: "escape" }),
    onEnd: () => offer({ kind: "end" }),
    onRedraw: () => offer({ kind: "redraw" }),
    onHistory: (direction, text) => history.move(direction, text),
    complete: completionsOf,
    now: () => clock.currentTimeMillisUnsafe()
  }
}
