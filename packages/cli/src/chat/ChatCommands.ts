/** Commands of a chat: lines that begin with a slash. */
import { RunMode } from "@corral/domain/run/Run"

export const chatCommands = {
  help: "/help: this list",
  new: "/new: start a new conversation",
  agent: "/agent [NAME]: list the agents, or choose one",
  mode: "/mode [MODE]: what the agent can do without approval",
  model: "/model [NAME]: model of the next messages; without a name the agent's own",
  budget:
    "/budget [tokens=N] [turns=N] [cost=2.50] [time=10m] [timeout=10m]: limits of the next messages; off removes them",
  attach: "/attach FILE: add a file to the message: an image, a PDF document or text",
  detach: "/detach [NAME]: remove this file, or all files, from the message",
  answer: "/answer [TEXT]: answer the question with this text; without a text a secret, which is not shown",
  skip: "/skip: give no answer to the question",
  finish: "/finish: end the work in the background, and keep the agent's result",
  stop: "/stop: stop the agent",
  pause: "/pause: freeze the agent's programs until /unpause",
  unpause: "/unpause: let them continue",
  continue: "/continue: send the messages that are held after a stop or an error",
  diff: "/diff: changes of the last turn",
  changes: "/changes [FILE]: changes of the last turn that are not decided, or the hunks of a file",
  accept: "/accept all|FILE|ID: write these changes into the workspace",
  reject: "/reject all|FILE|ID: take these changes out; the agent hears of it",
  undo: "/undo [FILE]: reverse the last decision, or what the last turn wrote; or one file of it",
  compare: "/compare: what several agents did with the same task",
  retry: "/retry: send messages again that were not sent or not delivered",
  withdraw: "/withdraw: take back the last queued message",
  quit: "/quit: leave; so does Ctrl-C twice"
} as const

export type ChatCommandName = keyof typeof chatCommands

export type ChatLine =
  | { readonly kind: "empty" }
  | { readonly kind: "message"; readonly text: string; readonly isInput: boolean }
  | { readonly kind: "command"; readonly name: ChatCommandName; readonly argument: string }
  | { readonly kind: "invalid"; readonly message: string }

const isName = (name: string): name is ChatCommandName => Object.hasOwn(chatCommands, name)

/** Reads a line. `//` begins a message with one slash, `!` one that the agent receives during its turn. */
export const parseLine = (line: string): ChatLine => {
  const text = line.trim()
  if (text === "") return { kind: "empty" }
  if (text.startsWith("//")) return { kind: "message", text: text.slice(1), isInput: false }
  if (text.startsWith("!")) {
    const rest = text.slice(1).trim()
    return rest === "" ? { kind: "empty" } : { kind: "message", text: rest, isInput: true }
  }
  if (!text.startsWith("/")) return { kind: "message", text, isInput: false }
  const [first = "", ...rest] = text.slice(1).split(" ")
  const name = first === "exit" ? "quit" : first
  if (isName(name)) return { kind: "command", name, argument: rest.join(" ").trim() }
  const shown = first.split("\n")[0] ?? ""
  return {
    kind: "invalid",
    message: `/${shown} is not a command. /help lists them. Send it as a message with //${shown}`
  }
}

export const helpLines: ReadonlyArray<string> = [
  "Enter sends. While the agent works, a message waits for its turn; !TEXT reaches it at once.",
  "A line that ends with \\ continues, as does Alt-Enter. Up and Down show earlier messages.",
  ...Object.values(chatCommands),
  "//TEXT: send a message that begins with a slash"
]

/** Commands, and modes, that begin with the line. */
export const completionsOf = (line: string): ReadonlyArray<string> => {
  if (!line.startsWith("/") || line.includes("\n")) return []
  if (line.startsWith("/mode "))
    return RunMode.literals.map((mode) => `/mode ${mode}`).filter((each) => each.startsWith(line))
  return Object.keys(chatCommands)
    .map((name) => `/${name}`)
    .filter((each) => each.startsWith(line))
}
