/**
 * Base of the generic adapters: a program described by its command line only. Its prompt goes to an argument or to stdin.
 */
import type { ProjectSettings } from "@corral/domain/run/ProjectSettings"
import type { RunFailure } from "@corral/domain/run/Run"
import type { ProcessEnd, RunStart, RuntimeAdapter, RuntimeCommand } from "@corral/domain/run/RuntimeAdapter"
import { stripVTControlCharacters } from "node:util"
import { beginningOf } from "./text/FirstLine.ts"
import { defined } from "./text/Json.ts"
import { runtimeFailure } from "./output/OutputCollector.ts"

/** Placeholder for the prompt in an argument. */
export const PROMPT = "{prompt}"

/** Shell that makes stdin a pipe. The Edge's is a socket, which a program cannot open by its name, `/dev/stdin`. */
const PIPED = ["/bin/sh", "-c", 'cat | "$0" "$@"'] as const

/** Command line of a program, as an operator configures it. */
export interface CommandLine {
  /** Name in messages for users. */
  readonly label: string
  /** Program, then arguments. */
  readonly command: readonly [string, ...ReadonlyArray<string>]
  /** `prompt`: the prompt is written to stdin, then stdin is closed. `none`: stdin is empty. */
  readonly stdin: "prompt" | "none"
  /** Sentence for users whose machine does not have the program. */
  readonly install: string
  /** Names of the Edge's environment variables that the program receives. `*` at the end means a prefix. */
  readonly passEnv?: ReadonlyArray<string> | undefined
  /** Project files that the program executes something of. A command line has no way to ignore them. */
  readonly projectSettings?: ProjectSettings | undefined
}

/** Adapter for a command line, without the protocol that reads its output. */
export const commandLineAdapter = (
  id: string,
  { label, command, stdin, install, passEnv, projectSettings }: CommandLine
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
    ...defined({ passEnv, projectSettings }),
    command: ({ prompt }: RunStart): RuntimeCommand => ({
      file: program,
      args: args.map((arg) => arg.replaceAll(PROMPT, () => prompt)),
      ...(stdin === "prompt" ? { bridge: PIPED } : {}),
      stdin: stdin === "prompt" ? "once" : "ignore"
    })
  }
}

/** Control characters but the tab. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0B-\x1F\x7F]/g

/** A line as a terminal shows it at the end: without escape sequences, and only the text after the last carriage return. */
export const lastVisibleLine = (text: string): string => {
  const line = stripVTControlCharacters(text)
  return line.slice(line.lastIndexOf("\r") + 1).replaceAll(CONTROL, "")
}

const MAX_LINE_CHARACTERS = 500

/** Failure of a generic program at its exit, with its last line of stderr. */
export const exitFailure = (label: string, end: ProcessEnd): RunFailure => {
  const lastLine = end.stderr
    .split("\n")
    .map((line) => lastVisibleLine(line).trim())
    .findLast((line) => line !== "")
  const how =
    end.signal === null ? `ended with exit code ${end.code ?? "unknown"}` : `was ended by ${end.signal}`
  const message = `${label} ${how}${lastLine === undefined ? "." : `: ${beginningOf(lastLine, MAX_LINE_CHARACTERS)}`}`
  const exit = defined({ exitCode: end.code ?? undefined, signal: end.signal ?? undefined })
  return runtimeFailure(end.signal === null ? "exit_code" : "crashed", message, exit)
}
