/** `corral agents`: lists, adds, edits and removes profiles and runners of the Edge on this machine. */
import type { AgentId } from "@corral/domain/identity/Ids"
import { MAX_PRESET_CHARACTERS, type Preset, type PresetSettings } from "@corral/domain/run/Preset"
import { RunMode } from "@corral/domain/run/Run"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { readFileSync } from "node:fs"
import { readAllPages } from "../AllPages.ts"
import { refused } from "../CommandFailed.ts"
import { connectToChosenEdge } from "../edge/EdgeClient.ts"
import { edgeFlags, jsonLines, jsonObject, optionalText } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { formatItem, makePaint } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const idArgument = Argument.String("id").pipe(
  Argument.withDescription("Id of the agent, for --agent of other commands")
)

const settingFlags = {
  label: optionalText("label", "Name for people. Default of a new agent: its id"),
  adapter: optionalText("adapter", "Id of the adapter that a profile narrows"),
  mode: Flag.Literals("mode", RunMode.literals).pipe(
    Flag.withDescription("Widest mode of a profile"),
    Flag.optional
  ),
  model: optionalText("model", "Model of runs that name none"),
  program: optionalText("program", "Program instead of the adapter's: a name, or an absolute path"),
  env: Flag.String("env").pipe(
    Flag.withDescription("Variable of the Edge that its runs receive. Repeat it for several"),
    Flag.atLeast(0)
  ),
  settings: optionalText("settings", "File with the entry as in edge.config.json, or - for stdin")
}

interface SettingFlags {
  readonly label: Option.Option<string>
  readonly adapter: Option.Option<string>
  readonly mode: Option.Option<string>
  readonly model: Option.Option<string>
  readonly program: Option.Option<string>
  readonly env: ReadonlyArray<string>
  readonly settings: Option.Option<string>
}

/** An entry in a file. Its id is that of the command. */
const readEntry = Effect.fnUntraced(function* (path: string) {
  const text = yield* Effect.try({
    try: () => readFileSync(path === "-" ? 0 : path, "utf8"),
    catch: () => refused(`Can't read settings from ${path}.`)
  })
  if (text.length > 2 * MAX_PRESET_CHARACTERS)
    return yield* refused(`The settings in ${path} are larger than ${MAX_PRESET_CHARACTERS} characters.`)
  const value = yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: () => refused(`${path} is not JSON.`)
  })
  if (!isJsonObject(value)) return yield* refused(`${path} is not a JSON object.`)
  const { id: _, ...settings } = value
  return settings
})

/** The settings of the flags, which win over those of the file. */
const settingsOf = Effect.fnUntraced(function* ({
  adapter,
  env,
  label,
  mode,
  model,
  program,
  settings
}: SettingFlags) {
  const entry: PresetSettings = Option.isNone(settings) ? {} : yield* readEntry(settings.value)
  const texts = Object.entries({ label, adapter, mode, model, program }).flatMap(([name, value]) =>
    Option.isNone(value) ? [] : [[name, value.value]]
  )
  return { ...entry, ...Object.fromEntries(texts), ...(env.length === 0 ? {} : { env }) }
})

const report = Effect.fnUntraced(function* (json: boolean, preset: Preset, text: string) {
  const host = yield* Host
  host.write(json ? `${JSON.stringify(preset)}\n` : `${text}\n`)
})

const list = Command.make(
  "list",
  { ...edgeFlags, json: jsonLines },
  Effect.fn(function* ({ json, ...choice }) {
    const host = yield* Host
    const { presets } = yield* connectToChosenEdge(choice)
    const { items } = yield* readAllPages((query) => presets.list({ query }))
    const paint = makePaint(host.colours)
    for (const preset of items) {
      const { id, kind, problem, settings, source } = preset
      const texts = [kind, settings["adapter"] ?? settings["runtime"], settings["mode"], settings["model"]]
      const parts = [
        ...texts.map((text) => ({ text: typeof text === "string" ? escapeLine(text) : "" })),
        { text: source === "file" ? "from edge.config.json" : "", style: "dim" } as const,
        ...(problem === undefined ? [] : [{ text: escapeLine(problem), style: "red" } as const])
      ]
      host.write(json ? `${JSON.stringify(preset)}\n` : formatItem(escapeLine(id), parts, paint, host.width))
    }
    if (!json && items.length === 0)
      host.write("No profiles or runners yet. Add one with `corral agents add`.\n")
  })
).pipe(Command.withDescription("List profiles and runners of the Edge"))

const add = Command.make(
  "add",
  {
    ...edgeFlags,
    ...settingFlags,
    kind: Flag.Literals("kind", ["profile", "runner"]).pipe(
      Flag.withDescription("A profile narrows an adapter, a runner is a command line in --settings"),
      Flag.withDefault("profile" as const)
    ),
    json: jsonObject,
    id: idArgument
  },
  Effect.fn(function* ({ id, json, kind, tokenFile, url, ...flags }) {
    const { presets } = yield* connectToChosenEdge({ tokenFile, url })
    const settings = { label: id, ...(yield* settingsOf(flags)) }
    const preset = yield* presets.create({ headers: {}, payload: { id, kind, settings } })
    yield* report(json, preset, `Added ${id}. The next run can use it: corral run --agent ${id}`)
  })
).pipe(Command.withDescription("Add a profile or a runner to the Edge"))

const edit = Command.make(
  "edit",
  {
    ...edgeFlags,
    ...settingFlags,
    unset: Flag.String("unset").pipe(
      Flag.withDescription("Setting to remove, such as model. Repeat it for several"),
      Flag.atLeast(0)
    ),
    json: jsonObject,
    id: idArgument
  },
  Effect.fn(function* ({ id, json, tokenFile, unset, url, ...flags }) {
    const { presets } = yield* connectToChosenEdge({ tokenFile, url })
    const removed = Object.fromEntries(unset.map((name) => [name, null]))
    const settings = { ...removed, ...(yield* settingsOf(flags)) }
    if (Object.keys(settings).length === 0)
      return yield* refused("Nothing to change. Name a setting, such as --mode ask.")
    const params = { id: id as AgentId } // the Edge checks it
    const preset = yield* presets.update({ params, payload: { settings } })
    yield* report(json, preset, `Changed ${id} for the next run.`)
  })
).pipe(Command.withDescription("Change settings of a profile or a runner of the Edge"))

const remove = Command.make(
  "remove",
  { ...edgeFlags, id: idArgument },
  Effect.fn(function* ({ id, ...choice }) {
    const host = yield* Host
    const { presets } = yield* connectToChosenEdge(choice)
    yield* presets.remove({ params: { id: id as AgentId } }) // the Edge checks it
    host.write(`Removed ${id}.\n`)
  })
).pipe(Command.withDescription("Remove a profile or a runner from the Edge"))

export const agentsCommand = Command.make("agents").pipe(
  Command.withDescription("List, add, edit and remove profiles and runners"),
  Command.withSubcommands([list, add, edit, remove])
)
