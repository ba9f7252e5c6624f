/** `corral up`: starts Corral on this machine and serves until Ctrl-C. */
import type { ConfinementReadiness } from "@corral/domain/http/Health"
import { WorkspaceName } from "@corral/domain/identity/Ids"
import type { WorkspaceEntry } from "@corral/edge/config/WorkspaceEntries"
import { Deferred, Effect, Exit, Option, Schema, Scope } from "effect"
import { Command, Flag } from "effect/cli"
import { statSync } from "node:fs"
import { resolve } from "node:path"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import { fetchEdgeHealth } from "../edge/EdgeClient.ts"
import { locateEdge } from "../edge/EdgeLocation.ts"
import { toggle } from "../Flags.ts"
import { settleLiveRuns } from "../service/LiveRunsAtEnd.ts"
import { type LocalServices, startLocalServices } from "../service/LocalServices.ts"
import { SAMPLE_ID } from "../service/SampleWorkspace.ts"
import { Host, receiveSignal, type StopSignal } from "../terminal/Host.ts"

/** Welcome text of `corral up`: URLs, workspaces and a first command. */
interface Welcome {
  /** URL of the console. Undefined without a Hub. */
  readonly console: string | undefined
  /** Suggested name for the development sign-in, which accepts every name. */
  readonly owner: string | undefined
  readonly project: string | undefined
  /** Whether the terminals of this home are signed in to the Hub. */
  readonly signedIn: boolean
  readonly edge: string
  /** Of runs. Undefined if the Edge does not say. */
  readonly confinement: ConfinementReadiness | undefined
  readonly gateway: string | undefined
  readonly tokenFile: string
  readonly workspaces: ReadonlyArray<WorkspaceEntry>
  readonly invocation: string
}

const welcomeLine = (what: string, value: string | undefined): ReadonlyArray<string> =>
  value === undefined ? [] : [`  ${what.padEnd(12)}${value}`]

/** What is missing to confine runs. `undefined` if nothing is. */
const confinementGap = ({ confinement, invocation }: Welcome): string | undefined => {
  if (confinement?.problem === undefined) return undefined
  const means = confinement.kind === "none" ? "none" : `in part, by ${confinement.kind}`
  return `${means}. ${confinement.problem} \`${invocation} doctor\` shows what to do.`
}

const FIRST = "Read the notes and write a summary"

/** The last line: what to open. */
const openLine = ({ console, edge, owner }: Welcome): string => {
  if (console === undefined) return `The Edge is at ${edge}. Ctrl-C stops it.`
  const who = owner === undefined ? "" : ` and sign in as ${owner}`
  return `Open ${console}${who}. Ctrl-C stops Corral.`
}

const formatWelcome = (content: Welcome): string => {
  const { gateway, invocation, owner, project, signedIn, tokenFile, workspaces } = content
  const run = `${invocation} run --agent scripted --workspace ${workspaces[0]?.id ?? SAMPLE_ID} "${FIRST}"`
  const isShown = content.console === undefined || (signedIn && project !== undefined)
  return [
    "",
    owner === undefined
      ? "Corral is running."
      : "Corral is running. The sign-in of this machine accepts every name.",
    "",
    ...welcomeLine("project", project),
    ...workspaces.flatMap(({ id, path }) => welcomeLine("workspace", `${id} (${path})`)),
    ...welcomeLine("Edge", content.edge),
    ...welcomeLine("Edge token", tokenFile),
    ...welcomeLine("Gateway", gateway),
    ...welcomeLine("confinement", confinementGap(content)),
    "",
    `Start a run in another terminal${isShown ? "" : " (the console won't show it)"}, or chat:`,
    `  ${run}`,
    `  ${invocation} chat`,
    "",
    openLine(content),
    ""
  ].join("\n")
}

/** Maximum time from the signal to the end of the process. */
const STOP_LIMIT = "9500 millis"

const isWorkspaceName = Schema.is(WorkspaceName)
const port = (name: string, description: string) =>
  Flag.Int(name).pipe(
    Flag.withDescription(description),
    Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))),
    Flag.optional
  )

const flags = {
  port: port("port", "Port of the console (CORRAL_HUB_PORT). Default: 7400 if free; 0 takes any free port"),
  edgePort: port("edge-port", "Port of the Edge (CORRAL_EDGE_PORT); 0 takes any free port"),
  workspace: Flag.KeyValuePair("workspace").pipe(
    Flag.withDescription("Folder for runs, as id=path. Can be repeated"),
    Flag.optional
  ),
  edgeOnly: toggle("edge-only", "Start only the Edge, without a Hub and its console")
}

/** Parses one `id=path` of `--workspace`. */
const parseWorkspace = ([id, path]: readonly [string, string]): Effect.Effect<
  WorkspaceEntry,
  CommandFailed
> =>
  !isWorkspaceName(id)
    ? Effect.fail(refused(`--workspace must be id=path. "${id}" is not a valid id.`))
    : statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
      ? Effect.succeed({ id, path: resolve(path) })
      : Effect.fail(refused(`--workspace: folder ${resolve(path)} was not found. Create it first.`))

/** Completes with the first SIGINT or SIGTERM. */
const stopSignal = Effect.gen(function* () {
  const stop = yield* Deferred.make<StopSignal>()
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    yield* receiveSignal(signal, () => Deferred.doneUnsafe(stop, Exit.succeed(signal)))
  return Deferred.await(stop)
})

/** How the Edge confines runs. */
const confinementOf = ({ config, edge }: LocalServices) =>
  locateEdge({ url: Option.some(edge.url), tokenFile: Option.some(config.tokenFile) }).pipe(
    Effect.flatMap(fetchEdgeHealth),
    Effect.map(({ confinement }) => confinement),
    Effect.orElseSucceed(() => undefined)
  )

/** Prints the welcome text on a terminal, otherwise one JSON line. */
const printReady = Effect.fnUntraced(function* (services: LocalServices) {
  const host = yield* Host
  const { config, edge, gateway, hub, project, signedIn = false, workspaces } = services
  if (host.terminal) {
    const welcome = formatWelcome({
      console: hub?.publicUrl,
      owner: hub?.owner,
      project: project?.name,
      signedIn,
      edge: edge.url,
      confinement: yield* confinementOf(services),
      gateway: gateway?.url,
      tokenFile: config.tokenFile,
      workspaces,
      invocation: host.invocation
    })
    return host.write(welcome)
  }
  const url = hub?.publicUrl ?? edge.url
  const gatewayUrl = gateway === undefined ? {} : { gateway: gateway.url }
  host.write(`${JSON.stringify({ ready: true, service: "corral", url, edge: edge.url, ...gatewayUrl })}\n`)
})

export const upCommand = Command.make(
  "up",
  flags,
  Effect.fn(function* ({ edgeOnly, edgePort, port, workspace }) {
    const workspaces = yield* Effect.forEach(
      Object.entries(Option.getOrElse(workspace, () => ({}))),
      parseWorkspace
    )
    const stopped = yield* stopSignal
    const scope = yield* Scope.make()
    const services = yield* startLocalServices({
      hubPort: Option.getOrUndefined(port),
      edgePort: Option.getOrUndefined(edgePort),
      workspaces,
      isEdgeOnly: edgeOnly
    }).pipe(
      Scope.provide(scope),
      Effect.map((started): LocalServices => started),
      Effect.raceFirst(Effect.as(stopped, undefined)),
      Effect.onError(() => Scope.close(scope, Exit.void))
    )
    if (services === undefined) return yield* Scope.close(scope, Exit.void)
    yield* printReady(services)
    const signal = yield* stopped
    // A service manager sends SIGTERM. Only a user is asked.
    if (signal === "SIGINT") yield* settleLiveRuns(services.edge.runs)
    const closed = yield* Effect.timeoutOption(Scope.close(scope, Exit.void), STOP_LIMIT)
    if (Option.isNone(closed)) {
      return yield* new CommandFailed({
        message: "Corral did not stop in time. Some processes may still be running.",
        exitCode: exitCodes.failed
      })
    }
  }, Effect.scoped)
).pipe(Command.withDescription("Start Corral on this machine, until Ctrl-C"))
