/** What a chat says when the user leaves it: messages that were not sent, and what continues without the terminal. */
import { textWithFiles } from "../attachment/FileText.ts"
import type { ChatHistory } from "./ChatHistory.ts"
import type { ChatThread } from "./ChatThread.ts"
import type { ChatView } from "./ChatView.ts"

/** Prints messages that no service has, and adds them to the history. */
export const reportUnsent = (view: ChatView, history: ChatHistory): void => {
  const unsent = [...view.outbox, ...view.queued.filter(({ state }) => state === "waiting")]
  for (const { files, text } of unsent) {
    view.notice(`Not sent: ${textWithFiles(text, files)}`, "yellow")
    history.add(text)
  }
}

/** Says what continues, and how the user returns. */
export const reportContinuation = (view: ChatView, thread: ChatThread, invocation: string): void => {
  const queued = view.queued.filter(({ state }) => state === "queued").length
  if (queued > 0)
    view.notice(
      `${queued === 1 ? "One message is" : `${queued} messages are`} queued. The agent receives what is queued.`
    )
  if (view.activeRuns.length > 0) view.notice("The agent continues its turn.")
  const id = thread.id()
  if (id !== undefined)
    view.notice(`Continue with \`${invocation} chat --resume ${id}${thread.server.named}\``)
}
