/**
 * What the model plays: a word between double brackets in the person's prompt says it, `[[read: README.md]]`. Whether a tool was asked for
 * already is read from the request alone, so that nothing has to be remembered between requests.
 */

export type Act =
  | "say"
  | "read"
  | "run"
  | "edit"
  | "escape"
  | "fetch"
  /** A command in the background. */
  | "background"
  /** A sub-agent that runs a command. */
  | "delegate"
  /** A question with the options of `COLOURS`. */
  | "ask"
  /** A list of two steps. */
  | "steps"

/** What a prompt asks the model to do, and with what. */
export interface Script {
  readonly act: Act
  readonly subject: string
}

/** What the model wants done, before it is said in the words of a program's own tools. */
export type Step =
  | { readonly tool: "read"; readonly path: string }
  | { readonly tool: "run"; readonly command: string; readonly withoutSandbox?: true }
  | { readonly tool: "fetch"; readonly url: string }
  | { readonly tool: "background"; readonly command: string }
  | { readonly tool: "delegate"; readonly prompt: string }
  | { readonly tool: "ask"; readonly question: string; readonly options: ReadonlyArray<string> }
  | { readonly tool: "steps"; readonly steps: readonly [string, string] }
  | { readonly tool: "edit"; readonly path: string; readonly old: string; readonly new: string }

export interface Turn {
  readonly text: string
  readonly step?: Step | undefined
}

/** The line that `edit` replaces, and what it puts there. */
export const OLD = "Hello world"
export const NEW = "Hello edited world"

/** A prompt that makes the model play this. The subject holds no quotes, backslashes or brackets. */
export const promptFor = (act: Act, subject: string): string => `Please do this: [[${act}: ${subject}]]`

/** Options of a question, in this order. */
export const COLOURS = ["Crimson", "Turquoise"] as const

const acts = "say|read|run|edit|escape|fetch|background|delegate|ask|steps"
const scripts = new RegExp(`\\[\\[(${acts}): ([^\\]"\\\\]*)\\]\\]`, "g")
/** What a sub-agent is to do. Its parent's requests quote it too, next to a script of their own. */
const delegated = /<<(run): ([^>"\\]*)>>/g

/** The last script in the text of a request of any shape. */
export const scriptIn = (request: string): Script | undefined => {
  const found = [...request.matchAll(scripts)].at(-1) ?? [...request.matchAll(delegated)].at(-1)
  const [, act, subject] = found ?? []
  return act === undefined || subject === undefined ? undefined : { act: act as Act, subject }
}

/** The model's last words for a script. */
export const closing = ({ act, subject }: Script): string =>
  act === "say" ? subject : `That was all: ${act} ${subject}`

/** Commands of one subject. Each is a call. */
const commands = (subject: string): ReadonlyArray<string> => subject.split(" ;; ")

const steps = ({ act, subject }: Script): ReadonlyArray<Step> => {
  switch (act) {
    case "say":
      return []
    case "read":
      return [{ tool: "read", path: subject }]
    case "run":
      return commands(subject).map((command) => ({ tool: "run", command }))
    case "escape":
      // As a model asks when a command failed in the program's own sandbox.
      return commands(subject).map((command) => ({ tool: "run", command, withoutSandbox: true }))
    case "fetch":
      return [{ tool: "fetch", url: subject }]
    case "background":
      return [{ tool: "background", command: subject }]
    case "delegate":
      return [{ tool: "delegate", prompt: `You are a child. <<run: ${subject}>>` }]
    case "ask":
      return [{ tool: "ask", question: subject, options: COLOURS }]
    case "steps":
      return [{ tool: "steps", steps: [`First ${subject}`, `Second ${subject}`] }]
    case "edit":
      // Programs refuse to edit what was not read.
      return [
        { tool: "read", path: subject },
        { tool: "edit", path: subject, old: OLD, new: NEW }
      ]
  }
}

/** The turn after `results` tool results. */
export const turnOf = (script: Script | undefined, results: number): Turn => {
  // A program's own side question, as for a title.
  if (script === undefined) return { text: "A title" }
  const step = steps(script)[results]
  return step === undefined ? { text: closing(script) } : { text: `Now: ${step.tool}.`, step }
}
