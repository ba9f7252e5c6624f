/** Entry point of `corral`. Owns the process: output, signals and the exit code. */
import { directOptions } from "@corral/domain/http/DirectConnection"
import { exitWhenWritten } from "@corral/service/exitWhenWritten"
import { VERSION } from "@corral/service/Version"
import { NodeServices } from "@effect/platform-node"
import { Cause, Console, Effect, Exit, Layer, Logger, Option } from "effect"
import { CliConfig, type CliError, CliOutput, Command, GlobalFlag } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { statSync } from "node:fs"
import { basename, dirname, relative, sep } from "node:path"
import { createInterface, type Interface } from "node:readline"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"
import { corral } from "./Corral.ts"
import { Host, type StopSignal } from "./terminal/Host.ts"
import { LineEditor } from "./terminal/LineEditor.ts"
import { makePaint } from "./terminal/Rows.ts"
import { terminalLogger } from "./terminal/TerminalLogger.ts"
import { escapeControls } from "./terminal/VisibleText.ts"

/** Removes the schema prefix, so that schema errors read like parser errors. */
const withoutPrefix = (message: string): string => message.replace("Expected: Schema validation failed: ", "")

const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Console.error(
          [
            ...event.errors.map(({ message }) => withoutPrefix(message)),
            `See ${event.commandPath.join(" ")} --help`
          ].join("\n")
        )
      : CliOutput.defaultPresenter.present(event)
}

/**
 * Output of an invalid command line: the errors and a pointer to `--help`. Full help is printed only on request. Global flags and error output of all
 * commands.
 */
const usageLayer = Layer.merge(
  CliOutput.layerPresenter(presenter),
  CliConfig.layer({
    // Shell completions are a command, not a global flag.
    builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.LogLevel]
  })
)

const { env, stdin, stdout, stderr } = process
const terminal = stdout.isTTY === true
const dumb = env.TERM === "dumb"
const live = terminal && !dumb
const colourless = env.NO_COLOR !== undefined && env.NO_COLOR !== ""
const colours = live && !colourless

const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path}'`)

/** Command of a script of npm: of this repository, also from another folder, or of a package that has the command installed. */
const ofScript = (): string => {
  if (env.npm_package_name !== "corral") return "npx corral"
  const repository = dirname(env.npm_package_json ?? "package.json")
  const isInside = relative(repository, process.cwd()).split(sep)[0] !== ".."
  return isInside ? "npm run corral --" : `npm --prefix ${quoted(repository)} run corral --`
}

/** Command as the user typed it, so that suggested commands can be copied. */
const invocation = (): string => {
  if (env.npm_command === "exec") return "npx corral"
  if (env.npm_lifecycle_event !== undefined) return ofScript()
  const [, program = "corral"] = process.argv
  // A folder means `node dist/corral`, a file of that name the installed command.
  const installed = basename(program) === "corral" && !statSync(program).isDirectory()
  return installed ? "corral" : `node ${quoted(program)}`
}

/** One stdin reader for all listeners. Open while there is at least one listener. */
const listeners = new Set<(line: string) => void>()
let lines: Interface | undefined

const readLines = (): void => {
  lines ??= createInterface({ input: stdin, terminal: false }).on("line", (line) => {
    for (const notify of listeners) notify(line)
  })
}

const stopReadingLines = (): void => {
  lines?.close()
  lines = undefined
}

const onLine = (listener: (line: string) => void): (() => void) => {
  listeners.add(listener)
  readLines()
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) stopReadingLines()
  }
}

/** An editor that nothing draws: the terminal does not show what is typed. */
const onSecret = (listener: (line: string) => void): (() => void) => {
  stopReadingLines()
  const nothing = () => undefined
  const editor = new LineEditor(stdin, {
    onChange: nothing,
    onSubmit: (text) => {
      stdout.write("\n")
      listener(text)
    },
    // The terminal sends no signal while it passes on each key.
    onInterrupt: () => stop("SIGINT")(),
    onEscape: nothing,
    onEnd: () => stop("SIGTERM")(),
    onRedraw: nothing,
    onHistory: nothing,
    complete: () => [],
    now: () => performance.now()
  })
  return () => {
    editor.close()
    if (listeners.size > 0) readLines()
  }
}

/** Signal handlers. The last one is active. */
const handlers: Record<StopSignal, ReadonlyArray<() => void>> = { SIGINT: [], SIGTERM: [], SIGPIPE: [] }

let terminated = false

const onSignal = (signal: StopSignal, handler: () => void): (() => void) => {
  handlers[signal] = [...handlers[signal], handler]
  return () => {
    handlers[signal] = handlers[signal].filter((each) => each !== handler)
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
  size: () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 }),
  onResize: (listener) => {
    stdout.on("resize", listener)
    return () => void stdout.off("resize", listener)
  },
  openEditor: (listener) => new LineEditor(stdin, listener),
  bytes: () => ({
    input: stdin,
    write: (bytes) =>
      new Promise(
        (resolve, reject) => void stdout.write(bytes, (error) => (error ? reject(error) : resolve()))
      )
  }),
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
  onSecret,
  onSignal
}

/** Prints the message, then the error code and request id. */
const printFailure = ({ message, code, requestId }: CommandFailed): void => {
  if (message === "") return
  const about = [code, requestId].filter((part) => part !== undefined).join(" ")
  const dim = makePaint(colours && stderr.isTTY === true)
  stderr.write(`${escapeControls(message)}${about === "" ? "" : dim("dim", ` (${about})`)}\n`)
}

const exitCodeOf = (exit: Exit.Exit<void, CommandFailed | CliError.CliError>): number => {
  if (Exit.isSuccess(exit)) return exitCodes.completed
  const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (failure instanceof CommandFailed) {
    printFailure(failure)
    return failure.exitCode
  }
  // Requested help is not a failure. The parser has already printed an invalid command line.
  if (failure !== undefined) {
    return failure._tag === "ShowHelp" && failure.errors.length === 0
      ? exitCodes.completed
      : exitCodes.refused
  }
  if (Cause.hasInterruptsOnly(exit.cause)) return terminated ? exitCodes.terminated : exitCodes.cancelled
  stderr.write(`corral crashed: ${String(Cause.squash(exit.cause))}\n`)
  return exitCodes.failed
}

const services = Layer.mergeAll(
  NodeServices.layer,
  FetchHttpClient.layer,
  Layer.succeed(FetchHttpClient.Fetch, (input, init) =>
    fetch(input, { ...init, ...directOptions(input instanceof Request ? input.url : input) })
  ),
  Layer.succeed(Host, host),
  usageLayer,
  Logger.layer([
    stderr.isTTY === true && !dumb
      ? terminalLogger(makePaint(colours), (text) => void stderr.write(text))
      : Logger.withConsoleError(Logger.formatLogFmt)
  ])
)

const fiber = Effect.runFork(
  Command.runWith(corral, { version: VERSION })(process.argv.slice(2)).pipe(Effect.provide(services))
)
/** npm forwards the Ctrl-C of the terminal, so it arrives twice. */
const SAME_PRESS_MS = 300
let interruptedAt: number | undefined
/** Exit code, once the process waits only for its output. */
let exiting: number | undefined

const stop = (signal: "SIGINT" | "SIGTERM") => () => {
  const handler = handlers[signal].at(-1)
  if (handler !== undefined) return handler()
  terminated = signal === "SIGTERM"
  if (exiting !== undefined) process.exit(terminated ? exitCodes.terminated : exitCodes.cancelled)
  if (interruptedAt === undefined) {
    interruptedAt = performance.now()
    fiber.interruptUnsafe()
    // A second Ctrl-C means that cleanup takes too long.
  } else if (performance.now() - interruptedAt > SAME_PRESS_MS)
    process.exit(terminated ? exitCodes.terminated : exitCodes.cancelled)
}
process.on("SIGINT", stop("SIGINT"))
process.on("SIGTERM", stop("SIGTERM"))
// A closed terminal ends the command like other signals. Without a terminal, as under `nohup`, it continues.
let closed = false
const hasTerminal = terminal || stdin.isTTY === true || stderr.isTTY === true
process.on("SIGHUP", () => {
  if (!hasTerminal) return
  closed = true
  stop("SIGTERM")()
})

const isReaderClosed = (error: Error): boolean => "code" in error && error.code === "EPIPE"

const exitWith = (code: number): void => {
  exiting = code
  exitWhenWritten(code)
}

const exitUnwritten = (error: Error): void => {
  stderr.write(`Can't write the output: ${error.message}\n`)
  exitWith(exitCodes.failed)
}

for (const stream of [stdout, stderr]) {
  stream.on("error", (error) => {
    const handler = handlers.SIGPIPE.at(-1)
    // The command has finished: a closed reader does not change the exit code.
    if (closed || exiting !== undefined) return
    if (!isReaderClosed(error)) exitUnwritten(error)
    else if (handler !== undefined) handler()
    else process.exit(exitCodes.completed)
  })
}
fiber.addObserver((exit) => {
  const code = exitCodeOf(exit)
  // The last write may have failed just before.
  if (!closed && stdout.errored !== null && !isReaderClosed(stdout.errored)) exitUnwritten(stdout.errored)
  else exitWith(code)
})
