/**
 * A program that is known by its command line alone: how it is given the prompt, and what its exit tells.
 */
import type { RunFailure } from "@corral/domain/run/Run"
import type { ProcessEnd, RunStart, RuntimeAdapter, RuntimeCommand } from "@corral/domain/run/RuntimeAdapter"
import { stripVTControlCharacters } from "node:util"
import { beginningOf } from "./text/Excerpt.ts"
import { defined } from "./text/Json.ts"
import { runtimeFailure } from "./output/OutputCollector.ts"

/** What stands for the prompt in an argument. */
export const PROMPT = "{prompt}"

export interface CommandLine {
  readonly label: string
  /** Program, then arguments. */
  readonly command: readonly [string, ...ReadonlyArray<string>]
  /** `prompt`: the prompt is written to stdin, and stdin is closed. `none`: stdin is at its end from the start. */
  readonly stdin: "prompt" | "none"
  /** What to tell a person whose machine lacks the program. */
  readonly install: string
  readonly passEnv?: ReadonlyArray<string> | undefined
}

/** What any adapter over a command line says of itself; how its output is read is the adapter's own. */
export const commandLineAdapter = (
  id: string,
  { label, command, stdin, install, passEnv }: CommandLine
): Omit<RuntimeAdapter, "protocol"> => {
  const [program, ...args] = command
  return {
    specificationVersion: 1,
    id,
    label,
    capabilities: {
      deltas: true,
      approvals: false,
      editInput: false,
      resume: false,
      readOnly: false,
      cancel: false,
      input: false
    },
    probe: { command: program, versionArgs: ["--version"], install },
    ...defined({ passEnv }),
    command: ({ prompt }: RunStart): RuntimeCommand => ({
      file: program,
      args: args.map((arg) => arg.replaceAll(PROMPT, () => prompt)),
      stdin: stdin === "prompt" ? "once" : "ignore"
    })
  }
}

/** Control characters but the tab. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0B-\x1F\x7F]/g

/** A line as a terminal would leave it: without escapes, and of what overwrites itself the last. */
export const plain = (text: string): string => {
  const line = stripVTControlCharacters(text)
  return line.slice(line.lastIndexOf("\r") + 1).replaceAll(CONTROL, "")
}

const SAID_CHARACTERS = 500

/** In a generic program's words: the last thing it said on stderr. */
export const exitFailure = (label: string, end: ProcessEnd): RunFailure => {
  const said = end.stderr
    .split("\n")
    .map((line) => plain(line).trim())
    .findLast((line) => line !== "")
  const how =
    end.signal === null ? `ended with exit code ${end.code ?? "unknown"}` : `was ended by ${end.signal}`
  const message = `${label} ${how}${said === undefined ? "." : `: ${beginningOf(said, SAID_CHARACTERS)}`}`
  const exit = defined({ exitCode: end.code ?? undefined, signal: end.signal ?? undefined })
  return runtimeFailure(end.signal === null ? "exit_code" : "crashed", message, exit)
}
