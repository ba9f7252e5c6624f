/** The `corral` command. Owns the process: output, signals and the exit code. */
import { exitWhenWritten } from "@corral/service/exitWhenWritten"
import { VERSION } from "@corral/service/Version"
import { NodeServices } from "@effect/platform-node"
import { Cause, Effect, Exit, Layer, Logger, Option } from "effect"
import { type CliError, Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { statSync } from "node:fs"
import { basename } from "node:path"
import { createInterface, type Interface } from "node:readline"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"
import { corral } from "./Corral.ts"
import { Host, type StopSignal } from "./terminal/Host.ts"
import { makePaint } from "./terminal/Paint.ts"
import { escapeControls } from "./terminal/VisibleText.ts"
import * as Usage from "./Usage.ts"

const { env, stdin, stdout, stderr } = process
const terminal = stdout.isTTY === true
const dumb = env.TERM === "dumb"
const live = terminal && !dumb
const colourless = env.NO_COLOR !== undefined && env.NO_COLOR !== ""
const colours = live && !colourless

/** As the person called it, so that what is suggested can be typed. */
const invocation = (): string => {
  if (env.npm_lifecycle_event !== undefined) return "npm run corral --"
  const [, program = "corral"] = process.argv
  // A folder is `node dist/corral`; a file of that name is the installed command.
  const installed = basename(program) === "corral" && !statSync(program).isDirectory()
  return installed ? "corral" : `node ${/^[\w./-]+$/.test(program) ? program : `'${program}'`}`
}

/** One reader for all who listen, there as long as anybody does. */
const listeners = new Set<(line: string) => void>()
let lines: Interface | undefined

const onLine = (heard: (line: string) => void): (() => void) => {
  listeners.add(heard)
  lines ??= createInterface({ input: stdin, terminal: false }).on("line", (line) => {
    for (const listener of listeners) listener(line)
  })
  return () => {
    listeners.delete(heard)
    if (listeners.size > 0) return
    lines?.close()
    lines = undefined
  }
}

/** The last who took a signal over has it. */
const receivers: Record<StopSignal, ReadonlyArray<() => void>> = { SIGINT: [], SIGTERM: [], SIGPIPE: [] }

let terminated = false

const onSignal = (signal: StopSignal, received: () => void): (() => void) => {
  receivers[signal] = [...receivers[signal], received]
  return () => {
    receivers[signal] = receivers[signal].filter((each) => each !== received)
  }
}

const host: Host["Service"] = {
  terminal,
  live,
  colours,
  get columns() {
    return stderr.isTTY === true && !dumb ? stderr.columns : undefined
  },
  width: terminal ? stdout.columns : undefined,
  interactive: terminal && stdin.isTTY === true,
  invocation: invocation(),
  environment: Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  ),
  write: (text) => void stdout.write(text),
  written: Effect.callback((resume) => {
    if (stdout.writableLength === 0) resume(Effect.void)
    else stdout.write("", (error) => (error ? undefined : resume(Effect.void)))
  }),
  warn: (text) => void stderr.write(text),
  onLine,
  onSignal
}

/** The sentence, then what support needs to find it. */
const tell = ({ message, code, requestId }: CommandFailed): void => {
  if (message === "") return
  const about = [code, requestId].filter((part) => part !== undefined).join(" ")
  const dim = makePaint(colours && stderr.isTTY === true)
  stderr.write(`${escapeControls(message)}${about === "" ? "" : dim("dim", ` (${about})`)}\n`)
}

const exitCodeOf = (exit: Exit.Exit<void, CommandFailed | CliError.CliError>): number => {
  if (Exit.isSuccess(exit)) return exitCodes.completed
  const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (failure instanceof CommandFailed) {
    tell(failure)
    return failure.exitCode
  }
  // Help that was asked for is no failure; a wrong command line has been told by the parser.
  if (failure !== undefined) {
    return failure._tag === "ShowHelp" && failure.errors.length === 0
      ? exitCodes.completed
      : exitCodes.refused
  }
  if (Cause.hasInterruptsOnly(exit.cause)) return terminated ? exitCodes.terminated : exitCodes.cancelled
  stderr.write(`corral has stopped because of a fault of its own: ${String(Cause.squash(exit.cause))}\n`)
  return exitCodes.failed
}

const services = Layer.mergeAll(
  NodeServices.layer,
  FetchHttpClient.layer,
  Layer.succeed(Host, host),
  Usage.usageLayer,
  Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])
)

const fiber = Effect.runFork(
  Command.runWith(corral, { version: VERSION })(process.argv.slice(2)).pipe(Effect.provide(services))
)
/** One Ctrl-C arrives twice where npm passes it on besides the terminal. */
const SAME_PRESS_MS = 300
let interruptedAt: number | undefined
/** Exit code for the end of the process, once everything is written. */
let exiting: number | undefined

const stop = (signal: "SIGINT" | "SIGTERM") => () => {
  const receiver = receivers[signal].at(-1)
  if (receiver !== undefined) return receiver()
  terminated = signal === "SIGTERM"
  if (exiting !== undefined) process.exit(terminated ? exitCodes.terminated : exitCodes.cancelled)
  if (interruptedAt === undefined) {
    interruptedAt = performance.now()
    fiber.interruptUnsafe()
    // What is tidied up takes too long for whoever asks again.
  } else if (performance.now() - interruptedAt > SAME_PRESS_MS)
    process.exit(terminated ? exitCodes.terminated : exitCodes.cancelled)
}
process.on("SIGINT", stop("SIGINT"))
process.on("SIGTERM", stop("SIGTERM"))
// The terminal was closed: the command ends as after any other signal. Without a terminal, as under `nohup`, it continues.
let closed = false
const hasTerminal = terminal || stdin.isTTY === true || stderr.isTTY === true
process.on("SIGHUP", () => {
  if (!hasTerminal) return
  closed = true
  stop("SIGTERM")()
})

const isUnread = (error: Error): boolean => "code" in error && error.code === "EPIPE"

const exitWith = (code: number): void => {
  exiting = code
  exitWhenWritten(code)
}

const unwritten = (error: Error): void => {
  stderr.write(`The output cannot be written: ${error.message}\n`)
  exitWith(exitCodes.failed)
}

for (const stream of [stdout, stderr]) {
  stream.on("error", (error) => {
    const receiver = receivers.SIGPIPE.at(-1)
    // What is done is done: where its end is not read, the exit code stays.
    if (closed || exiting !== undefined) return
    if (!isUnread(error)) unwritten(error)
    else if (receiver !== undefined) receiver()
    else process.exit(exitCodes.completed)
  })
}
fiber.addObserver((exit) => {
  const code = exitCodeOf(exit)
  // The last write may have failed a moment ago.
  if (!closed && stdout.errored !== null && !isUnread(stdout.errored)) unwritten(stdout.errored)
  else exitWith(code)
})
