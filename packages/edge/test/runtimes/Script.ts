/**
 * What the model plays: a word between double brackets in the person's prompt says it, `[[read: README.md]]`. What was played already is read
 * from the request alone, so that nothing has to be remembered between requests.
 */

export type Act =
  | "say"
  | "read"
  | "run"
  | "edit"
  /** Reads, edits and commands, in this order, as `reworkOf` writes them. */
  | "rework"
  | "escape"
  | "fetch"
  /** A command in the background. */
  | "background"
  /** A sub-agent that runs a command. */
  | "delegate"
  /** Two sub-agents at the same time. */
  | "pair"
  /** A sub-agent with a sub-agent that runs a command. */
  | "nest"
  /** A goal, and a command in the turn that the program starts for it. */
  | "goal"
  /** A wake-up, and a command in the turn that the program starts then. */
  | "wake"
  /** A planned job, and a command in the turn that the program starts then. */
  | "cron"
  /** A question with the options of `COLOURS`. */
  | "ask"
  /** The same question in a message, which ends the turn. */
  | "leave"
  /** A tool of a server that shows a form. */
  | "form"
  /** A tool of a server that shows an address. */
  | "link"
  /** A plan that is handed over. */
  | "plan"
  /** A list of two steps. */
  | "steps"

/** What a prompt asks the model to do, and with what. */
export interface Script {
  readonly act: Act
  readonly subject: string
  /** 1 for a sub-agent, 2 for a sub-agent of that. */
  readonly depth?: number
}

/** What the model wants done, before it is said in the words of a program's own tools. */
export type Step =
  | { readonly tool: "read"; readonly path: string }
  | { readonly tool: "run"; readonly command: string; readonly withoutSandbox?: true }
  | { readonly tool: "fetch"; readonly url: string }
  | { readonly tool: "background"; readonly command: string }
  | { readonly tool: "delegate"; readonly name: string; readonly prompt: string }
  | { readonly tool: "ask" | "leave"; readonly question: string; readonly options: ReadonlyArray<string> }
  | { readonly tool: "steps"; readonly steps: readonly [string, string] }
  | { readonly tool: "edit"; readonly path: string; readonly old: string; readonly new: string }
  | { readonly tool: "goal"; readonly objective: string }
  | { readonly tool: "reached" }
  | { readonly tool: "wake" | "cron"; readonly prompt: string }
  | { readonly tool: "form" | "link" }
  | { readonly tool: "draft" | "plan"; readonly plan: string }

export interface Turn {
  readonly text: string
  /** Calls at the same time. */
  readonly steps: ReadonlyArray<Step>
}

/** The line that `edit` replaces, and what it puts there. */
export const OLD = "Hello world"
export const NEW = "Hello edited world"

/** A prompt that makes the model play this. The subject holds no quotes, backslashes or brackets. */
export const promptFor = (act: Act, subject: string): string => `Please do this: [[${act}: ${subject}]]`

/** Options of a question, in this order. */
export const COLOURS = ["Crimson", "Turquoise"] as const

const acts =
  "say|read|run|edit|rework|escape|fetch|background|delegate|pair|nest|goal|wake|cron|ask|leave|form|link|plan|steps"
const scripts = new RegExp(`\\[\\[(${acts}): ([^\\]"\\\\]*)\\]\\]`, "g")
/**
 * What a sub-agent is to do, by its depth. Requests of its parent quote it too, next to a script of their own, and those of a sub-agent quote
 * what its own sub-agent is to do.
 */
const delegated = ['<<1 (run|delegate): ([^>"\\\\]*)>>', '<<2 (run): ([^>"\\\\]*)>>'].map(
  (pattern) => new RegExp(pattern, "g")
)

/** The last script in the text of a request of any shape. */
export const scriptIn = (request: string): Script | undefined => {
  for (const [depth, pattern] of [scripts, ...delegated].entries()) {
    const [, act, subject] = [...request.matchAll(pattern)].at(-1) ?? []
    if (act !== undefined && subject !== undefined) return { act: act as Act, subject, depth }
  }
  return undefined
}

/** What follows the last script of a person in a conversation. */
export const afterScript = (items: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  items.slice(items.findLastIndex((item) => scriptIn(JSON.stringify(item))?.depth === 0) + 1)

/** The model's last words for a script. */
export const closing = ({ act, subject }: Script): string =>
  act === "say" ? subject : `That was all: ${act} ${subject}`

/** Commands of one subject. Each is a call. */
const commands = (subject: string): ReadonlyArray<string> => subject.split(" ;; ")

const child = (depth: number, act: Act, subject: string, name = "child"): Step => ({
  tool: "delegate",
  name,
  prompt: `You are ${name}. <<${depth + 1} ${act}: ${subject}>>`
})

/** A turn of the program ends. What follows is played in the next one. */
const end: ReadonlyArray<Step> = []

/** What the program's next turns do after this step has ended one. */
const inNextTurn = (first: Step, command: string): ReadonlyArray<ReadonlyArray<Step>> => [
  [first],
  end,
  [{ tool: "run", command }]
]

/** A step of `rework`: a file to read, a line to replace, or a command. */
type Rework =
  | { readonly read: string }
  | { readonly file: string; readonly old: string; readonly new: string }
  | { readonly command: string }

/** The subject of `rework`. */
export const reworkOf = (...steps: ReadonlyArray<Rework>): string =>
  steps
    .map((step) =>
      "read" in step
        ? `read ${step.read}`
        : "command" in step
          ? `run ${step.command}`
          : `edit ${step.file}: ${step.old} => ${step.new}`
    )
    .join(" ;; ")

const reworkStep = (text: string): Step => {
  const [, path = "", old = "", replacement = ""] = /^edit (.*?): (.*) => (.*)$/.exec(text) ?? []
  if (path !== "") return { tool: "edit", path, old, new: replacement }
  const [, tool, rest = ""] = /^(read|run) (.*)$/.exec(text) ?? []
  return tool === "read" ? { tool, path: rest } : { tool: "run", command: rest }
}

/** Calls of each answer of the model. An answer without calls ends the turn. */
const answers = ({ act, depth = 0, subject }: Script): ReadonlyArray<ReadonlyArray<Step>> => {
  switch (act) {
    case "say":
      return []
    case "read":
      return [[{ tool: "read", path: subject }]]
    case "run":
      return commands(subject).map((command) => [{ tool: "run", command }])
    case "rework":
      return commands(subject).map((step) => [reworkStep(step)])
    case "escape":
      // As a model asks when a command failed in the program's own sandbox.
      return commands(subject).map((command) => [{ tool: "run", command, withoutSandbox: true }])
    case "fetch":
      return [[{ tool: "fetch", url: subject }]]
    case "background":
      return [[{ tool: "background", command: subject }]]
    case "delegate":
      return [[child(depth, "run", subject)]]
    case "pair":
      return [commands(subject).map((command, at) => child(depth, "run", command, `child_${at + 1}`))]
    case "nest":
      return [[child(depth, "delegate", subject)]]
    case "goal":
      return [...inNextTurn({ tool: "goal", objective: "Reach it" }, subject), [{ tool: "reached" }]]
    case "wake":
    case "cron":
      return inNextTurn({ tool: act, prompt: "It is time" }, subject)
    case "ask":
      return [[{ tool: act, question: subject, options: COLOURS }]]
    case "leave":
      return [
        [{ tool: act, question: subject, options: COLOURS }],
        [{ tool: act, question: "And where?", options: ["Inside", "Outside"] }]
      ]
    case "form":
    case "link":
      return [[{ tool: act }]]
    case "plan":
      return [[{ tool: "draft", plan: subject }], [{ tool: "plan", plan: subject }]]
    case "steps":
      return [[{ tool: "steps", steps: [`First ${subject}`, `Second ${subject}`] }]]
    case "edit":
      // Programs refuse to edit what was not read.
      return [[{ tool: "read", path: subject }], [{ tool: "edit", path: subject, old: OLD, new: NEW }]]
  }
}

/** The answer to a request with this many tool results. `endings`: how many turns of the conversation have ended. */
export const turnOf = (script: Script | undefined, results: number, endings = 0): Turn => {
  // A program's own side question, as for a title.
  if (script === undefined) return { text: "A title", steps: [] }
  let left = results + endings
  for (const steps of answers(script)) {
    const size = Math.max(1, steps.length)
    if (left < size)
      return steps.length === 0
        ? { text: closing(script), steps }
        : { text: `Now: ${steps.map(({ tool }) => tool).join(" and ")}.`, steps }
    left -= size
  }
  return { text: closing(script), steps: [] }
}
