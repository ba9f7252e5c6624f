/** `corral adapters`: lists the adapters of this machine, checks an external one, and adds it to the Edge's configuration. */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { dirname, join, resolve } from "node:path"
import { addAdapter } from "../adapters/ConfigEdit.ts"
import { exitCodes, exitWith, refused } from "../CommandFailed.ts"
import { corralHome, readEdgeFile } from "../edge/EdgeLocation.ts"
import { jsonLines, jsonObject } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { makePaint } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const adapterArgument = Argument.String("adapter").pipe(
  Argument.withDescription("Name of an installed package, or path of a JavaScript module or package folder")
)

// What the commands need is loaded on demand: others start faster without it.
const configOfHost = Effect.gen(function* () {
  const { environment } = yield* Host
  const { readEdgeConfig } = yield* Effect.promise(() => import("@corral/edge/EdgeSettings"))
  const config = yield* Effect.mapError(readEdgeConfig(environment), ({ message }) => refused(message))
  const home = yield* corralHome
  return { config, file: resolve(config.configFile ?? join(home, "edge.config.json")), home }
})

const list = Command.make(
  "list",
  { json: jsonLines },
  Effect.fn(function* ({ json }) {
    const host = yield* Host
    const { config } = yield* configOfHost
    const { formatAdapters, LIST_COLUMNS, listAdapters } = yield* Effect.promise(
      () => import("../adapters/AdapterList.ts")
    )
    const found = yield* listAdapters(config)
    const lines = json
      ? found.adapters.map((adapter) => JSON.stringify(adapter))
      : formatAdapters({ ...found, problems: [] }, LIST_COLUMNS, makePaint(host.colours))
    host.write(lines.map((line) => `${line}\n`).join(""))
    for (const problem of found.problems) host.warn(`${escapeLine(problem)}\n`)
    if (found.problems.length > 0) return yield* exitWith(exitCodes.failed)
  })
).pipe(Command.withDescription("List built-in, configured and external adapters"))

const checked = Effect.fnUntraced(function* (adapter: string, json: boolean) {
  const host = yield* Host
  const { file, home } = yield* configOfHost
  const { checkAdapter, formatCheck } = yield* Effect.promise(() => import("../adapters/AdapterList.ts"))
  const result = yield* checkAdapter(adapter, dirname(file), host.environment)
  // `check` and `add` print the JSON of a good result themselves.
  if (!json || result.findings.length > 0)
    host.write(
      json
        ? `${JSON.stringify(result)}\n`
        : formatCheck(result)
            .map((line) => `${escapeLine(line)}\n`)
            .join("")
    )
  return { file, home, result }
})

const check = Command.make(
  "check",
  { adapter: adapterArgument, json: jsonObject },
  Effect.fn(function* ({ adapter, json }) {
    const host = yield* Host
    const { result } = yield* checked(adapter, json)
    if (result.findings.length > 0) return yield* exitWith(exitCodes.failed)
    if (json) host.write(`${JSON.stringify(result)}\n`)
  })
).pipe(Command.withDescription("Check an external adapter: its files, its version and its conformance"))

const add = Command.make(
  "add",
  { adapter: adapterArgument, json: jsonObject },
  Effect.fn(function* ({ adapter, json }) {
    const host = yield* Host
    const { file, home, result } = yield* checked(adapter, json)
    if (result.findings.length > 0) return yield* exitWith(exitCodes.refused)
    const isAdded = yield* addAdapter(file, result.entry)
    if (json) return host.write(`${JSON.stringify({ ...result, config: file, added: isAdded })}\n`)
    const next =
      readEdgeFile(home) === undefined ? "An Edge loads it when it starts." : "Restart the Edge to load it."
    host.write(
      isAdded ? `Added ${result.entry} to ${file}. ${next}\n` : `${result.entry} is already in ${file}.\n`
    )
  })
).pipe(Command.withDescription("Check an external adapter and add it to edge.config.json"))

export const adaptersCommand = Command.make("adapters").pipe(
  Command.withDescription("List, check and add runtime adapters"),
  Command.withSubcommands([list, check, add])
)
