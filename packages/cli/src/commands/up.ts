/**
 * `corral up`: everything in one process, on stores that it brings along. A Hub with its console, an Edge that is a device of it, and a
 * Gateway where a bot is configured. A sample workspace comes with it where none is.
 *
 * Where this machine has joined another Hub (`corral device join`), and with `--edge-only`, it is the Edge alone.
 */
import { WorkspaceName } from "@corral/domain/identity/Ids"
import type { WorkspaceEntry } from "@corral/edge/config/EdgeConfig"
import { Deferred, Effect, Exit, Option, Redacted, Schema, Scope } from "effect"
import { Command, Flag } from "effect/cli"
import { randomBytes } from "node:crypto"
import { existsSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import { toggle } from "../Flags.ts"
import { Host, receiveSignal } from "../terminal/Host.ts"
import { LOCAL_DEVICE_FILE, ensureLocalDevice } from "../hub/LocalDevice.ts"
import { signInLocally } from "../hub/LocalSignIn.ts"
import { ensureSample, SAMPLE_ID } from "../service/SampleWorkspace.ts"
import { welcome } from "../service/Welcome.ts"

/** From the signal to the end of the process, at most. */
const STOP_LIMIT = "9500 millis"

const isWorkspaceName = Schema.is(WorkspaceName)
const port = (name: string, description: string) =>
  Flag.Int(name).pipe(
    Flag.withDescription(description),
    Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))),
    Flag.optional
  )

const flags = {
  port: port(
    "port",
    "Port of the console (CORRAL_HUB_PORT); else 7400 where it is free; 0 takes any free one"
  ),
  edgePort: port("edge-port", "Port of the Edge; 0 takes any free one (CORRAL_EDGE_PORT)"),
  workspace: Flag.KeyValuePair("workspace").pipe(
    Flag.withDescription("A folder that runs may work in, as id=path; may be given several times"),
    Flag.optional
  ),
  edgeOnly: toggle("edge-only", "Start the Edge alone, without a Hub and its console")
}

export const upCommand = Command.make(
  "up",
  flags,
  Effect.fn(function* ({ port, edgePort, workspace, edgeOnly }) {
    const host = yield* Host
    const added = yield* Effect.forEach(Object.entries(Option.getOrElse(workspace, () => ({}))), entryOf)

    const stop = yield* Deferred.make<void>()
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      yield* receiveSignal(signal, () => Deferred.doneUnsafe(stop, Exit.void))
    }

    const scope = yield* Scope.make()
    const start = Effect.gen(function* () {
      // Only this command needs whole services; the others start faster without.
      const { startEdge, configureEdge } = yield* Effect.promise(() => import("../service/EdgeService.ts"))
      const configured = yield* configureEdge(host.environment, Option.getOrUndefined(edgePort))
      const { home } = configured
      const given = [...configured.workspaces, ...added]
      const workspaces =
        given.length > 0 ? given : [{ id: SAMPLE_ID, path: yield* Effect.sync(() => ensureSample(home)) }]
      const elsewhere = existsSync(join(home, "device.json"))
      if (edgeOnly || elsewhere) {
        const edge = yield* startEdge({ ...configured, workspaces })
        return { edge, config: configured, workspaces }
      }

      const { configureHub, startHub } = yield* Effect.promise(() => import("../service/HubService.ts"))
      const { checkGatewaySettings, startGateway, hasBot } = yield* Effect.promise(
        () => import("../service/GatewayService.ts")
      )
      yield* checkGatewaySettings(host.environment)
      const hubConfig = yield* configureHub(host.environment, Option.getOrUndefined(port))
      const token = Redacted.make(randomBytes(32).toString("base64url"))
      const hub = yield* startHub({
        ...hubConfig,
        gatewayTokens: [...(hubConfig.gatewayTokens ?? []), token]
      })
      const file = join(home, LOCAL_DEVICE_FILE)
      const config = { ...configured, workspaces, deviceFile: file, hubAddresses: undefined }
      const edge = yield* startEdge(config)
      const gateway = hasBot(host.environment)
        ? yield* startGateway(host.environment, { url: hub.publicUrl, token, databaseUrl: hub.databaseUrl })
        : undefined
      const project =
        hub.owner === undefined
          ? undefined
          : yield* ensureLocalDevice({
              url: hub.url,
              publicUrl: hub.publicUrl,
              token: yield* hub.ownerToken,
              file,
              workspaces: workspaces.map(({ id }) => id)
            }).pipe(
              Effect.catch(({ message }) => {
                host.warn(`This Edge is not linked to the Hub: ${message}\n`)
                return Effect.undefined
              })
            )
      const signedIn =
        project === undefined
          ? false
          : yield* signInLocally({
              url: hub.url,
              publicUrl: hub.publicUrl,
              token: yield* hub.ownerToken
            }).pipe(
              Effect.catch(({ message }) => {
                host.warn(`The terminals of this home are not signed in to the Hub: ${message}\n`)
                return Effect.succeed(false)
              })
            )
      return { edge, config, workspaces, hub, gateway, project, signedIn }
    })

    const started = yield* start.pipe(
      Scope.provide(scope),
      Effect.map((services): Started => services),
      Effect.raceFirst(Effect.as(Deferred.await(stop), undefined)),
      Effect.onError(() => Scope.close(scope, Exit.void))
    )
    if (started === undefined) return yield* Scope.close(scope, Exit.void)
    const { config, edge, gateway, hub, project, signedIn, workspaces } = started
    const ready = {
      ready: true,
      service: "corral",
      url: hub?.publicUrl ?? edge.url,
      edge: edge.url,
      ...(gateway === undefined ? {} : { gateway: gateway.url })
    }
    const { invocation } = host
    host.write(
      host.terminal
        ? welcome({
            console: hub?.publicUrl,
            owner: hub?.owner,
            project: project?.name,
            signedIn: signedIn === true,
            edge: edge.url,
            gateway: gateway?.url,
            tokenFile: config.tokenFile,
            workspaces,
            invocation
          })
        : `${JSON.stringify(ready)}\n`
    )
    yield* Deferred.await(stop)
    const stopped = yield* Effect.timeoutOption(Scope.close(scope, Exit.void), STOP_LIMIT)
    if (Option.isNone(stopped)) {
      return yield* new CommandFailed({
        message: "Some of it did not stop in time.",
        exitCode: exitCodes.failed
      })
    }
  }, Effect.scoped)
).pipe(Command.withDescription("Start Corral on this machine, until Ctrl-C"))

interface Started {
  readonly edge: { readonly url: string }
  readonly config: { readonly tokenFile: string }
  readonly workspaces: ReadonlyArray<WorkspaceEntry>
  readonly hub?: { readonly publicUrl: string; readonly owner: string | undefined }
  readonly gateway?: { readonly url: string } | undefined
  readonly project?: { readonly name: string } | undefined
  /** Whether the terminals of this home are signed in to the Hub. */
  readonly signedIn?: boolean
}

const entryOf = ([id, path]: readonly [string, string]): Effect.Effect<WorkspaceEntry, CommandFailed> =>
  !isWorkspaceName(id)
    ? Effect.fail(refused(`--workspace takes id=path; "${id}" cannot be an id.`))
    : statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
      ? Effect.succeed({ id, path: resolve(path) })
      : Effect.fail(refused(`--workspace: there is no folder ${resolve(path)}; make it first.`))
